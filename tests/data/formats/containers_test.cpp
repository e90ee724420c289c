// gzip, tar and zip as they should be.
#include <gtest/gtest.h>

#include <string>

#include "data/formats/expect.h"
#include "data/formats/gzip.h"
#include "data/formats/tar.h"
#include "data/formats/zip.h"

namespace sotto {
namespace {

using make::Bytes;

TEST(Gzip, UnpacksWhatZlibPacked) {
  const Bytes content = make::counting(100'000);
  const auto unpacked = gunzip(make::gzip(content), content.size());
  ASSERT_TRUE(succeeds(unpacked));
  EXPECT_EQ(*unpacked, content);
}

TEST(Gzip, UnpacksSeveralMembersInARow) {
  Bytes packed = make::gzip(make::bytes_of("one "));
  make::put(packed, make::gzip(make::bytes_of("")));
  make::put(packed, make::gzip(make::bytes_of("two")));
  const auto unpacked = gunzip(packed, 7);
  ASSERT_TRUE(succeeds(unpacked));
  EXPECT_EQ(as_text(*unpacked), "one two");
}

TEST(Gzip, ReadsPlainAndPackedFilesAlike) {
  const TemporaryFolder folder;
  const Bytes content = make::bytes_of("plain text");
  for (const auto& file : {folder.write("a", content), folder.write("a.gz", make::gzip(content))}) {
    const auto read = read_unpacked(file, 100);
    ASSERT_TRUE(succeeds(read));
    EXPECT_EQ(*read, content);
  }
}

TEST(Tar, GivesFilesAndFoldersInTheirOrder) {
  const Bytes archive = make::tar({{"./b/", {}, '5'},
                                   {"./b/two", make::bytes_of("22"), '0'},
                                   {"a//one", make::counting(513), '\0'},
                                   {"empty", {}, '0'}});
  TarReader reader(archive);
  TarEntry entry;
  EXPECT_TRUE(reader.next(entry).value_or(false));
  EXPECT_EQ(entry.name, "b");
  EXPECT_TRUE(entry.folder);
  EXPECT_TRUE(reader.next(entry).value_or(false));
  EXPECT_EQ(entry.name, "b/two");
  EXPECT_FALSE(entry.folder);
  EXPECT_EQ(as_text(entry.content), "22");
  EXPECT_TRUE(reader.next(entry).value_or(false));
  EXPECT_EQ(entry.name, "a/one");
  EXPECT_EQ(entry.content.size(), 513U);
  EXPECT_TRUE(reader.next(entry).value_or(false));
  EXPECT_EQ(entry.name, "empty");
  for (int again = 0; again < 2; ++again) EXPECT_FALSE(reader.next(entry).value_or(true));
}

TEST(Tar, ReadsLongNames) {
  const std::string name = std::string(150, 'n') + "/" + std::string(150, 'm');
  const std::string record = "312 path=" + name + "\n";
  ASSERT_EQ(record.size(), 311U);  // the length counts itself: 311 digits are three
  const std::string pax = "311 path=" + name + "\n";
  for (const Bytes& archive :
       {make::tar({{"long", make::bytes_of(name + '\0'), 'L'}, {"cut", make::counting(3), '0'}}),
        make::tar({{"pax_global_header", make::bytes_of("13 comment=a\n"), 'g'},
                   {"pax", make::bytes_of(pax), 'x'},
                   {"cut", make::counting(3), '0'}})}) {
    TarReader reader(archive);
    TarEntry entry;
    ASSERT_TRUE(reader.next(entry).value_or(false));
    EXPECT_EQ(entry.name, name);
    EXPECT_EQ(entry.content.size(), 3U);
  }
}

TEST(Tar, ReadsNamesInUtf8WhateverTheLocale) {
  const std::string name = "\xc3\xa9t\xc3\xa9/\xe5\x9b\xbe.png";
  const std::string record = std::to_string(name.size() + 9) + " path=" + name + "\n";
  ASSERT_EQ(record.size(), name.size() + 9);
  for (const Bytes& archive :
       {make::tar({{name, {}, '0'}}),
        make::tar({{"pax", make::bytes_of(record), 'x'}, {"cut", {}, '0'}})}) {
    TarReader reader(archive);
    TarEntry entry;
    const auto more = reader.next(entry);
    ASSERT_TRUE(succeeds(more));
    EXPECT_EQ(entry.name, name);
  }
}

TEST(Tar, JoinsTheUstarPrefix) {
  make::TarMember member{"file", make::counting(1), '0'};
  Bytes archive = make::tar({member});
  for (std::size_t i = 0; i < 6; ++i) archive[345 + i] = static_cast<std::byte>("prefix"[i]);
  // The checksum grows by what was put in.
  unsigned sum = 0;
  for (const char c : std::string("prefix")) sum += static_cast<unsigned>(c);
  unsigned old = 0;
  for (std::size_t i = 148; i < 154; ++i)
    old = old * 8 + (std::to_integer<unsigned>(archive[i]) - '0');
  for (std::size_t i = 154; i-- > 148;) {
    archive[i] = static_cast<std::byte>('0' + (old + sum) / (1U << (3 * (153 - i))) % 8);
  }
  TarReader reader(archive);
  TarEntry entry;
  ASSERT_TRUE(reader.next(entry).value_or(false));
  EXPECT_EQ(entry.name, "prefix/file");
}

TEST(Zip, UnpacksStoredAndDeflatedEntries) {
  const Bytes content = make::counting(5000);
  const Bytes file =
      make::zip({{"stored", content, false}, {"deflated", content, true}, {"none", {}, true}});
  const auto archive = ZipArchive::open(file);
  ASSERT_TRUE(succeeds(archive));
  ASSERT_EQ(archive->entries().size(), 3U);
  for (const char* const name : {"stored", "deflated"}) {
    const ZipEntry* const entry = archive->find(name);
    ASSERT_NE(entry, nullptr);
    const auto unpacked = archive->unpack(*entry);
    ASSERT_TRUE(succeeds(unpacked));
    EXPECT_EQ(*unpacked, content);
  }
  EXPECT_TRUE(archive->unpack(*archive->find("none"))->empty());
  EXPECT_EQ(archive->find("other"), nullptr);
}

TEST(Zip, ReadsZip64SizesAndACommentAtTheEnd) {
  // One stored entry "a" of three bytes whose directory sizes are all in the zip64 field, and an
  // end record that leaves everything to its zip64 twin.
  Bytes file = make::zip({{"a", make::bytes_of("abc"), false}});
  const Bytes local(file.begin(), file.begin() + 30 + 1 + 3);
  Bytes central(file.begin() + 34, file.begin() + 34 + 46 + 1);
  for (const std::size_t at : {20, 24, 42}) {
    for (std::size_t i = 0; i < 4; ++i) central[at + i] = std::byte{0xff};
  }
  central[30] = std::byte{28};
  make::put_little(central, 1, 2);
  make::put_little(central, 24, 2);
  make::put_little(central, 3, 8);
  make::put_little(central, 3, 8);
  make::put_little(central, 0, 8);

  file = local;
  make::put(file, central);
  const std::size_t end64 = file.size();
  make::put_little(file, 0x06064b50, 4);
  make::put_little(file, 44, 8);
  make::put_little(file, 0, 8);
  make::put_little(file, 0, 4);
  make::put_little(file, 1, 8);
  make::put_little(file, 1, 8);
  make::put_little(file, central.size(), 8);
  make::put_little(file, local.size(), 8);
  make::put_little(file, 0x07064b50, 4);
  make::put_little(file, 0, 4);
  make::put_little(file, end64, 8);
  make::put_little(file, 1, 4);
  make::put_little(file, 0x06054b50, 4);
  make::put_little(file, 0, 4);
  make::put_little(file, 0xffffffff, 4);
  make::put_little(file, 0xffffffff, 4);
  make::put_little(file, 0xffffffff, 4);
  make::put_little(file, 4, 2);
  make::put(file, "note");

  const auto archive = ZipArchive::open(file);
  ASSERT_TRUE(succeeds(archive));
  ASSERT_EQ(archive->entries().size(), 1U);
  const auto content = archive->unpack(archive->entries()[0]);
  ASSERT_TRUE(succeeds(content));
  EXPECT_EQ(as_text(*content), "abc");
}

}  // namespace
}  // namespace sotto
