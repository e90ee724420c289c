// A ledger that was damaged, tampered with, truncated or put back from an older copy is refused by
// whoever wants to spend from it, and found by whoever verifies it. Files of other kinds too.
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <random>

#include "account/ledger/ledger_book.h"
#include "account/ledger/ledger_head.h"
#include "base/file.h"
#include "base/sha256.h"
#include "ledger_fixture.h"

namespace sotto {
namespace {

namespace fs = std::filesystem;

constexpr Limits kMuch = {.epsilon_per_round = 1.0, .epsilon = 1e6};

class DamageTest : public LedgerTest {
 protected:
  fs::path head_file() const { return file().string() + ".head"; }

  /// Ten rounds of one client; the last is not delivered. Closed, so all is in one file.
  void fill(RoundId first = 1, RoundId last = 10) const {
    auto ledger = open_with(kMuch);
    for (RoundId round = first; round <= last; ++round) {
      const auto charge = ledger->charge(request(round));
      const std::string report = "report of round " + std::to_string(round);
      ASSERT_TRUE(ledger->bind(*charge, report_bytes(report + std::string(3000, '.'))));
      if (round < last) {
        ASSERT_TRUE(ledger->delivered(*charge));
      }
    }
  }

  void sql(const std::string& statements) const {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(file().c_str(), &database), SQLITE_OK);
    char* error = nullptr;
    EXPECT_EQ(sqlite3_exec(database, statements.c_str(), nullptr, nullptr, &error), SQLITE_OK)
        << (error == nullptr ? "" : error);
    sqlite3_free(error);
    sqlite3_close(database);
  }

  void expect_found(const std::vector<std::string>& parts) const {
    const auto verified = verify_ledger(file());
    const auto opened = open_ledger(file());
    ASSERT_FALSE(verified);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().kind, ErrorKind::kCorrupt) << message(opened);
    EXPECT_EQ(message(verified), message(opened));
    EXPECT_EQ(message(opened).find(file().string()), 0U) << message(opened);
    for (const std::string& part : parts) {
      EXPECT_NE(message(opened).find(part), std::string::npos) << message(opened);
    }
  }
};

TEST_F(DamageTest, EntriesThatWereChangedOrRemovedAreFound) {
  const std::pair<const char*, std::vector<std::string>> changes[] = {
      {"UPDATE log SET body = replace(body, 'alice', 'alicf') WHERE entry = 5", {"entry 5"}},
      {"UPDATE log SET body = replace(body, char(9) || '1' || char(9), char(9) || '0.5' || char(9))"
       " WHERE entry = 8",
       {"entry 8"}},
      {"UPDATE log SET hash = replace(hash, 'a', 'b') WHERE entry = 9", {"entry 9"}},
      {"UPDATE log SET body = body || ' ' WHERE entry = 4", {"entry 4", "not one that Sotto"}},
      {"UPDATE log SET body = 'gift' WHERE entry = 4", {"entry 4"}},
      {"UPDATE log SET entry = 99 WHERE entry = 7", {"entry 7 is missing"}},
      {"DELETE FROM log WHERE entry = 5", {"entry 5 is missing"}},
      {"DELETE FROM log WHERE entry = 1", {"entry 1 is missing"}},
      {"DELETE FROM log WHERE entry = (SELECT max(entry) FROM log)", {"head record"}},
      {"DELETE FROM log", {"head record"}},
      {"INSERT INTO log VALUES (1000, 'limits', 'x')", {"is missing"}},
      {"UPDATE head SET entries = entries - 1", {"head record"}},
      {"UPDATE head SET hash = replace(hash, '1', '2')", {"head record"}},
      {"DELETE FROM head", {"head record is missing"}},
      {"DELETE FROM report", {"report that is bound to entry", "is missing"}},
      {"UPDATE report SET bytes = CAST('other' AS BLOB)", {"hash that it was bound with"}},
      {"INSERT INTO report VALUES (2, x'00')", {"entry 2 should not be there"}},
      {"UPDATE report SET charge = charge + 1", {"report"}},
      {"CREATE TRIGGER t AFTER INSERT ON log BEGIN DELETE FROM log WHERE entry > 3; END",
       {"tables"}},
      {"CREATE TABLE more (x)", {"tables"}},
      {"DROP TABLE report", {"table"}},
      {"PRAGMA user_version = 2", {"format 2"}},
      {"PRAGMA application_id = 7", {"not a ledger"}}};
  fill();
  const auto sound = read_file(file());
  for (const auto& [change, parts] : changes) {
    SCOPED_TRACE(change);
    sql(change);
    expect_found(parts);
    ASSERT_TRUE(write_file_atomically(file(), *sound));
  }
  EXPECT_TRUE(verify_ledger(file()));
  EXPECT_TRUE(open_ledger(file()));
}

// What the hashes alone would not show: the end of the chain is gone, and the record of it too.
TEST_F(DamageTest, ALedgerThatLostItsEndConsistentlyIsFound) {
  fill();
  sql("DELETE FROM log WHERE entry > 2; DELETE FROM report;"
      "UPDATE head SET entries = 2, hash = (SELECT hash FROM log WHERE entry = 2)");
  expect_found({"has 2 entries", "ledger.db.head remembers 30 entries", "older copy",
                "newest entries were removed"});
  EXPECT_TRUE(read_ledger(file()));  // for people it can still be read
}

TEST_F(DamageTest, AnOlderCopyIsFound) {
  fill();
  const auto older = read_file(file());
  fill(11, 12);
  ASSERT_TRUE(write_file_atomically(file(), *older));
  expect_found({"older copy", "allows nothing more"});
}

TEST_F(DamageTest, AnotherLedgerInItsPlaceIsFound) {
  fill();
  const auto head = read_text(head_file());
  fs::remove(file());
  fs::remove(head_file());
  fill(21, 40);
  ASSERT_TRUE(write_file_atomically(head_file(), *head));
  expect_found({"entry 30 is not the one that its head file remembers"});
}

TEST_F(DamageTest, AMissingLedgerOrHeadFileIsFound) {
  fill();
  fs::rename(head_file(), folder_ / "away");
  expect_found({"ledger.db.head is missing"});
  fs::rename(folder_ / "away", head_file());
  fs::rename(file(), folder_ / "away");
  expect_refused(open_ledger(file()), ErrorKind::kCorrupt,
                 {"the ledger is missing", "remembers 30 entries"});
  EXPECT_FALSE(verify_ledger(file()));
  EXPECT_FALSE(fs::exists(file()));
  folder_.write("ledger.db", "");
  expect_refused(open_ledger(file()), ErrorKind::kCorrupt, {"the ledger is empty"});
  EXPECT_FALSE(verify_ledger(file()));
  fs::rename(folder_ / "away", file());
  for (const char* text : {"", "sotto ledger head 1 30\n", "nonsense",
                           "sotto ledger head 1 -1 "
                           "0000000000000000000000000000000000000000000000000000000000000000\n"}) {
    const auto head = read_text(head_file());
    folder_.write("ledger.db.head", text);
    expect_refused(open_ledger(file()), ErrorKind::kCorrupt, {"ledger.db.head: damaged"});
    EXPECT_FALSE(verify_ledger(file()));
    folder_.write("ledger.db.head", *head);
  }
  EXPECT_TRUE(open_ledger(file()));
}

// A crash between the commit and the head file leaves one that lags: that is no fault.
TEST_F(DamageTest, AHeadFileThatLagsIsBroughtUpToDate) {
  fill();
  const auto early = read_text(head_file());
  fill(11, 11);
  const auto late = read_text(head_file());
  EXPECT_NE(*early, *late);
  ASSERT_TRUE(write_file_atomically(head_file(), *early));
  EXPECT_TRUE(verify_ledger(file()));
  EXPECT_EQ(read_text(head_file()).value(), *early);  // who verifies changes nothing
  EXPECT_TRUE(open_ledger(file()));
  EXPECT_EQ(read_text(head_file()).value(), *late);
}

TEST_F(DamageTest, LossWhileItIsOpenIsFound) {
  auto ledger = open_with(kMuch);
  ASSERT_TRUE(ledger->charge(request(1)));
  ASSERT_TRUE(ledger->charge(request(2)));
  sql("DELETE FROM log WHERE entry > 2;"
      "UPDATE head SET entries = 2, hash = (SELECT hash FROM log WHERE entry = 2)");
  expect_refused(ledger->charge(request(3)), ErrorKind::kCorrupt, {"changed or damaged"});
}

/// What a reader of the ledger can learn from it; empty where it is refused.
std::string content(const fs::path& file) {
  std::string lines;
  if (!verify_ledger(file) || !open_ledger(file) || !export_ledger(file, lines)) return {};
  return lines;
}

// Some bytes of an SQLite file mean nothing (free space in a page, counters of its header): a flip
// there changes nothing. Every other one is found.
TEST_F(DamageTest, AFlippedByteIsFoundOrChangesNothing) {
  fill();
  const auto sound = read_file(file()).value();
  const std::string before = content(file());
  ASSERT_FALSE(before.empty());
  std::mt19937 random(1);
  int found = 0;
  for (int i = 0; i < 400; ++i) {
    auto bytes = sound;
    const std::size_t at = random() % bytes.size();
    bytes[at] ^= static_cast<std::byte>(1U << (random() % 8U));
    folder_.write("ledger.db", bytes);
    fs::remove(file().string() + "-wal");
    fs::remove(file().string() + "-shm");
    const std::string after = content(file());
    if (after.empty()) {
      ++found;
    } else {
      EXPECT_EQ(after, before) << "byte " << at;
    }
  }
  EXPECT_GT(found, 100);
}

TEST_F(DamageTest, ATruncatedFileIsFound) {
  fill();
  const auto sound = read_file(file()).value();
  std::mt19937 random(2);
  for (int i = 0; i < 60; ++i) {
    const std::size_t size = i == 0 ? sound.size() - 1 : random() % sound.size();
    folder_.write("ledger.db", std::span(sound).first(size));
    EXPECT_FALSE(open_ledger(file())) << size;
    EXPECT_FALSE(verify_ledger(file())) << size;
  }
}

TEST_F(DamageTest, WhatIsNoLedgerIsRefusedAndLeftAlone) {
  std::mt19937 random(3);
  for (int i = 0; i < 100; ++i) {
    std::string bytes(1 + random() % 9000, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    if (i % 2 == 1) bytes.replace(0, 16, std::string("SQLite format 3\0", 16));
    folder_.write("ledger.db", bytes);
    EXPECT_FALSE(open_ledger(file()));
    EXPECT_FALSE(verify_ledger(file()));
    EXPECT_FALSE(read_ledger(file()));
    EXPECT_EQ(read_text(file()).value(), bytes);
    EXPECT_FALSE(fs::exists(head_file()));
  }
  fs::remove(file());
  sql("CREATE TABLE songs (title TEXT); INSERT INTO songs VALUES ('x')");
  const auto songs = read_text(file());
  expect_refused(open_ledger(file()), ErrorKind::kCorrupt, {"not a ledger of Sotto"});
  EXPECT_FALSE(read_ledger(file()));
  EXPECT_EQ(read_text(file()).value(), *songs);
  fs::remove(file());
  fs::create_directory(file());
  expect_refused(open_ledger(file()), ErrorKind::kIo, {"not a regular file"});
  EXPECT_FALSE(read_ledger(file()));
  fs::remove(file());
  ASSERT_EQ(::mkfifo(file().c_str(), 0600), 0);
  EXPECT_FALSE(open_ledger(file()));
  EXPECT_FALSE(read_ledger(file()));
}

TEST_F(DamageTest, AnEmptyFileBecomesALedgerButIsNotRead) {
  folder_.write("ledger.db", "");
  EXPECT_FALSE(read_ledger(file()));
  EXPECT_EQ(fs::file_size(file()), 0U);
  EXPECT_TRUE(open_ledger(file()));
  EXPECT_TRUE(verify_ledger(file()));
}

TEST_F(DamageTest, AFileThatMayNotBeWrittenIsAnError) {
  if (::geteuid() == 0) GTEST_SKIP() << "the superuser may write everywhere";
  fill();
  fs::permissions(file(), fs::perms::owner_read);
  expect_refused(open_ledger(file()), ErrorKind::kIo, {file().string()});
  fs::permissions(folder_.path(), fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_TRUE(verify_ledger(file()));
  fs::permissions(folder_.path(), fs::perms::owner_all);
}

// SQLite's list of free pages is no part of any entry, but the next entry is written where it says.
TEST_F(DamageTest, DamageBesideTheEntriesIsFound) {
  fill();
  auto bytes = read_file(file()).value();
  bytes[39] ^= std::byte{2};  // how many free pages there are
  folder_.write("ledger.db", bytes);
  EXPECT_TRUE(read_ledger(file()));
  expect_found({"changed or damaged"});
}

// What a forger with correct hashes might enter, and no ledger would.
TEST(Book, EntriesThatCannotBeAreRefused) {
  const std::string hash(64, 'a');
  const std::vector<std::string> sound = {"limits\ta\tb\t1\t1\t0\t9",
                                          "charge\ta\tb\tt\t1\tm\t1\t0\t1\t1",
                                          "bind\t2\t" + hash + "\t3", "delivered\t2"};
  const auto apply = [](Book& book, const std::string& text) {
    return book.apply(decode(text).value(), text);
  };
  Book book;
  EXPECT_FALSE(apply(book, sound[1]));  // no account
  ASSERT_TRUE(apply(book, sound[0]));
  EXPECT_FALSE(apply(book, sound[2]));  // no charge
  EXPECT_FALSE(apply(book, sound[3]));
  ASSERT_TRUE(apply(book, sound[1]));
  EXPECT_FALSE(apply(book, sound[1]));  // a round that is charged twice
  EXPECT_FALSE(apply(book, "bind\t1\t" + hash + "\t3"));
  EXPECT_FALSE(apply(book, sound[3]));  // delivered, but not bound
  ASSERT_TRUE(apply(book, sound[2]));
  EXPECT_FALSE(apply(book, sound[2]));  // bound twice
  ASSERT_TRUE(apply(book, sound[3]));
  EXPECT_FALSE(apply(book, sound[3]));
  EXPECT_EQ(book.head().entries, 4U);
  EXPECT_EQ(book.accounts()[0].spending.spent().rounds, 1U);
}

TEST_F(LedgerTest, TheHeadFileNeverGoesBack) {
  const std::string hash(64, 'a'), other(64, 'b');
  ASSERT_TRUE(write_head_file(file(), {5, hash}));
  ASSERT_TRUE(write_head_file(file(), {3, other}));
  EXPECT_EQ(read_head_file(file()).value()->hash, hash);
  ASSERT_TRUE(write_head_file(file(), {6, other}));
  EXPECT_EQ(read_head_file(file()).value()->entries, 6U);
  EXPECT_EQ(TemporaryFolder::entries(folder_.path()), 1);
}

TEST(LedgerEntry, OnlyItsOwnSpellingIsRead) {
  const std::string zeros(64, '0');
  for (const std::string& text :
       {std::string("limits\ta\tb\t1\tinf\t1e-06\t18446744073709551615"),
        std::string("charge\ta\tb\tt\t4294967295\tm\t0.1\t0\t0.05\t2"), "bind\t3\t" + zeros + "\t7",
        "bind\t3\t" + zeros + "\t-", std::string("delivered\t12")}) {
    const auto entry = decode(text);
    ASSERT_TRUE(entry) << text;
    EXPECT_EQ(encode(*entry), text);
    for (std::size_t i = 0; i < text.size(); ++i) {
      for (const char c : {'\t', ' ', '0', 'x', '-', '.', '+', '\0'}) {
        std::string other = text;
        other[i] = c;
        if (const auto read = decode(other)) {
          EXPECT_EQ(encode(*read), other);
        }
        other.insert(i, 1, text[i]);
        if (const auto read = decode(other)) {
          EXPECT_EQ(encode(*read), other);
        }
      }
      EXPECT_FALSE(i > 0 && text[i - 1] == '\t' && decode(text.substr(0, i))) << text.substr(0, i);
    }
    EXPECT_FALSE(decode(text + "\t"));
    EXPECT_FALSE(decode(text + "\t1"));
  }
  for (const char* text :
       {"", "\t", "charge", "limits\ta\tb\t-1\t1\t0\t1", "delivered\t01",
        "limits\ta\tb\tnan\t1\t0\t1", "limits\ta\tb\t1.0\t1\t0\t1", "limits\ta\tb\t1\t1\t2\t1",
        "charge\ta\tb\tt\t4294967296\tm\t1\t0\t1\t1", "limits\ta\t\t1\t1\t0\t1",
        "charge\t\tb\tt\t1\tm\t1\t0\t1\t1", "delivered\t18446744073709551616"}) {
    EXPECT_FALSE(decode(text)) << text;
  }
}

}  // namespace
}  // namespace sotto
