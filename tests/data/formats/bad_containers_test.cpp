// Hostile gzip, tar and zip: each is an error that says why, none a crash or an allocation.
#include <gtest/gtest.h>

#include <string>

#include "data/formats/expect.h"
#include "data/formats/gzip.h"
#include "data/formats/tar.h"
#include "data/formats/zip.h"
#include "data/readers.h"
#include "temporary_folder.h"

namespace sotto {
namespace {

using make::Bytes;

Result<std::size_t> count_entries(ByteSpan archive) {
  TarReader reader(archive);
  TarEntry entry;
  for (std::size_t count = 0;; ++count) {
    SOTTO_TRY(const bool more, reader.next(entry));
    if (!more) return count;
  }
}

Result<std::size_t> unpack_all(ByteSpan file) {
  SOTTO_TRY(const ZipArchive archive, ZipArchive::open(file));
  for (const ZipEntry& entry : archive.entries()) {
    SOTTO_TRY(const auto content, archive.unpack(entry));
    if (content.size() != entry.size) return fail(ErrorKind::kInternal, "wrong size");
  }
  return archive.entries().size();
}

TEST(BadGzip, TruncatedAnywhere) {
  expect_no_prefix_parses(make::gzip(make::counting(300)),
                          [](ByteSpan bytes) { return gunzip(bytes, 1000); });
}

TEST(BadGzip, Bomb) {
  const Bytes packed = make::gzip(Bytes(10'000'000));
  EXPECT_LT(packed.size(), 20'000U);
  EXPECT_TRUE(fails_with(gunzip(packed, 9'999'999), "more than the limit of 9999999 bytes"));
  EXPECT_TRUE(succeeds(gunzip(packed, 10'000'000)));
}

TEST(BadGzip, ManySmallMembersAreABombToo) {
  Bytes packed;
  for (int i = 0; i < 100; ++i) make::put(packed, make::gzip(Bytes(1000)));
  EXPECT_TRUE(fails_with(gunzip(packed, 99'999), "more than the limit"));
}

TEST(BadGzip, AFileMayUnpackToAHundredTimesItsSize) {
  EXPECT_EQ(most_unpacked(0), std::size_t{1} << 28);
  EXPECT_EQ(most_unpacked(4'000'000), 400'000'000U);
  EXPECT_EQ(most_unpacked(std::size_t{1} << 40), kMostDataBytes);
  EXPECT_EQ(most_unpacked(~std::size_t{0}), kMostDataBytes);
  const TemporaryFolder home;
  const Bytes packed = make::gzip(Bytes((std::size_t{1} << 28) + 1));
  home.write("bomb.csv.gz", as_text(packed));
  EXPECT_TRUE(fails_with(read_unpacked(home / "bomb.csv.gz", kMostDataBytes),
                         "bomb.csv.gz: unpacks to more than the limit of 268435456 bytes"));
}

TEST(BadGzip, WhatIsPackedByItselfIsNotUnpackedTwice) {
  const TemporaryFolder home;
  const Bytes zipped = make::zip({{"x.npy", make::npy("|u1", "(1, 2)", make::counting(2))},
                                  {"y.npy", make::npy("|u1", "(1,)", make::counting(1))}});
  home.write("sound.npz", as_text(zipped));
  EXPECT_TRUE(succeeds(read_npz(home / "sound.npz")));
  home.write("packed.npz", as_text(make::gzip(zipped)));
  EXPECT_TRUE(fails_with(read_npz(home / "packed.npz"), "packed.npz: not a zip archive"));
  const Bytes mat = make::svhn({1, 2}, true);
  home.write("sound.mat", as_text(mat));
  EXPECT_TRUE(succeeds(read_svhn(home / "sound.mat")));
  home.write("packed.mat", as_text(make::gzip(mat)));
  EXPECT_TRUE(fails_with(read_svhn(home / "packed.mat"), "packed.mat: not a MATLAB level 5 file"));
}

TEST(BadGzip, GarbageBehind) {
  Bytes packed = make::gzip(make::counting(10));
  make::put(packed, "x");
  EXPECT_TRUE(fails_with(gunzip(packed, 1000), "1 bytes of garbage"));
}

TEST(BadGzip, WrongChecksumAndLength) {
  const Bytes good = make::gzip(make::counting(10));
  Bytes checksum = good;
  checksum[good.size() - 8] ^= std::byte{1};
  EXPECT_TRUE(fails_with(gunzip(checksum, 1000), "incorrect data check"));
  Bytes length = good;
  length[good.size() - 4] ^= std::byte{1};
  EXPECT_TRUE(fails_with(gunzip(length, 1000), "incorrect length check"));
}

TEST(BadGzip, ErrorNamesTheFile) {
  const TemporaryFolder folder;
  Bytes packed = make::gzip(make::counting(10));
  packed.pop_back();
  EXPECT_TRUE(fails_with(read_unpacked(folder.write("cut.gz", packed), 1000), "cut.gz: "));
  EXPECT_TRUE(fails_with(read_unpacked(folder.path() / "none", 1000), "none: "));
}

TEST(BadGzip, AClaimedSizeIsCheckedBeforeMemoryIsTaken) {
  const Bytes packed = make::zlib(make::counting(10));
  EXPECT_TRUE(
      fails_with(inflate_exactly(packed, std::size_t{1} << 60), "compressed bytes cannot hold"));
  EXPECT_TRUE(fails_with(inflate_exactly(packed, 9), "more than 9 bytes"));
  EXPECT_TRUE(fails_with(inflate_exactly(packed, 11), "10 bytes, expected 11"));
}

TEST(BadTar, TruncatedAnywhere) {
  expect_no_prefix_parses(make::tar({{"a", make::counting(3), '0'}, {"b", {}, '0'}}),
                          count_entries);
  expect_no_prefix_parses(
      make::tar({{"x", make::bytes_of("14 path=a/bcd\n"), 'x'}, {"b", {}, '0'}}), count_entries);
}

TEST(BadTar, AnyByteChanged) {
  expect_total_on_changes(
      make::tar({{"x", make::bytes_of("14 path=a/bcd\n"), 'x'}, {"b", make::counting(3), '0'}}),
      count_entries);
}

TEST(BadTar, NamesThatLeadOut) {
  for (const char* const name : {"../x", "a/../../x", "a/.."}) {
    EXPECT_TRUE(fails_with(count_entries(make::tar({{name, {}, '0'}})), "'..' in the name"));
    EXPECT_TRUE(fails_with(count_entries(make::tar({{name, {}, '0'}})), name));
  }
  EXPECT_TRUE(
      fails_with(count_entries(make::tar({{"/etc/x", {}, '0'}})), "'/etc/x': absolute name"));
  EXPECT_TRUE(
      fails_with(count_entries(make::tar({{"L", make::bytes_of(std::string(5000, 'n')), 'L'},
                                          {"b", make::counting(3), '0'}})),
                 "name of more than 4096 bytes"));
  EXPECT_TRUE(fails_with(
      count_entries(make::tar({{"x", make::bytes_of("13 path=../x\n"), 'x'}, {"b", {}, '0'}})),
      "'../x': '..' in the name"));
  EXPECT_TRUE(
      fails_with(count_entries(make::tar({{"L", make::bytes_of("/x"), 'L'}, {"b", {}, '0'}})),
                 "'/x': absolute name"));
  EXPECT_TRUE(fails_with(count_entries(make::tar({{"", {}, '0'}})), "without a name"));
  EXPECT_TRUE(fails_with(count_entries(make::tar({{".", {}, '0'}})), "not a file name"));
}

TEST(BadTar, EntriesThatAreNoFiles) {
  const std::pair<char, const char*> kinds[] = {{'2', "symbolic link"},
                                                {'3', "device"},
                                                {'4', "device"},
                                                {'6', "pipe"},
                                                {'M', "neither file nor folder"}};
  for (const auto& [type, text] : kinds) {
    const auto result = count_entries(make::tar({{"ok", {}, '0'}, {"evil", {}, type}}));
    EXPECT_TRUE(fails_with(result, text));
    EXPECT_TRUE(fails_with(result, "entry 'evil'"));
  }
}

/// Puts octal digits into a header and makes its checksum right again.
void put_octal(Bytes& header, std::size_t at, std::size_t digits, std::uint64_t value) {
  const auto write = [&](std::size_t first, std::size_t count, std::uint64_t number) {
    for (std::size_t i = count; i-- > 0; number /= 8) {
      header[first + i] = static_cast<std::byte>('0' + number % 8);
    }
  };
  write(at, digits, value);
  for (std::size_t i = 148; i < 156; ++i) header[i] = std::byte{' '};
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < 512; ++i) sum += std::to_integer<std::uint64_t>(header[i]);
  write(148, 6, sum);
  header[154] = std::byte{0};
}

// A link's target, so that it is one.
TEST(BadTar, HardLinks) {
  Bytes header = make::tar_header({"evil", {}, '1'});
  for (std::size_t i = 0; i < 6; ++i) header[157 + i] = static_cast<std::byte>("target"[i]);
  put_octal(header, 100, 7, 0644);
  header.resize(2048);
  EXPECT_TRUE(fails_with(count_entries(header), "entry 'evil': hard link"));
}

// A header can claim a file of terabytes that is all hole.
TEST(BadTar, SparseFiles) {
  const auto gnu_header = [](const make::TarMember& member) {
    Bytes made = make::tar_header(member);
    for (std::size_t i = 0; i < 8; ++i) made[257 + i] = static_cast<std::byte>("ustar  "[i]);
    return made;
  };
  Bytes header = gnu_header({"holes", make::counting(512), 'S'});
  put_octal(header, 386, 11, 1024);        // the first piece starts here
  put_octal(header, 386 + 12, 11, 512);    // and has so many bytes
  put_octal(header, 483, 11, 1024 + 512);  // of the file
  Bytes archive = header;
  make::put(archive, make::counting(512));
  archive.resize(archive.size() + 4096);
  EXPECT_TRUE(fails_with(count_entries(archive), "entry 'holes': sparse files are not supported"));
  Bytes bomb = gnu_header({"hole", {}, 'S'});
  put_octal(bomb, 483, 11, 8'000'000'000);
  bomb.resize(bomb.size() + 4096);
  EXPECT_TRUE(fails_with(count_entries(bomb), "'hole': claims 8000000000 bytes, but only 4096"));
  Bytes small = gnu_header({"hole", {}, 'S'});
  put_octal(small, 483, 11, 600);
  small.resize(small.size() + 4096);
  EXPECT_TRUE(fails_with(count_entries(small), "entry 'hole': sparse files are not supported"));
}

TEST(BadTar, WrongChecksum) {
  Bytes archive = make::tar({{"a", make::counting(3), '0'}, {"b", {}, '0'}});
  Bytes second = archive;
  archive[0] = std::byte{'b'};
  EXPECT_TRUE(fails_with(count_entries(archive), "not a tar archive"));
  second[1024] = std::byte{'c'};
  EXPECT_TRUE(fails_with(count_entries(second), "byte 1024: Damaged tar archive"));
}

TEST(BadTar, SizesBeyondTheArchive) {
  // A header alone, for a content that is not there.
  Bytes archive = make::tar_header({"big", Bytes(5000), '0'});
  archive.resize(2048);
  EXPECT_TRUE(fails_with(count_entries(archive), "'big': claims 5000 bytes, but only 1536 follow"));
  const auto pax = [](const std::string& record) {
    return make::tar({{"x", make::bytes_of(record), 'x'}, {"b", {}, '0'}});
  };
  EXPECT_TRUE(fails_with(count_entries(pax("29 size=18446744073709551615\n")),
                         "Tar size attribute overflow"));
  EXPECT_TRUE(fails_with(count_entries(pax("30 size=184467440737095516150\n")),
                         "Tar size attribute overflow"));
  EXPECT_TRUE(fails_with(count_entries(pax("99 path=a\n")),
                         "byte 0: Ignoring malformed pax extended attribute"));
  EXPECT_TRUE(fails_with(count_entries(pax("3 \n")), "Invalid pax extended attributes"));
  EXPECT_TRUE(
      fails_with(count_entries(pax("1")), "byte 0: Ignoring malformed pax extended attribute"));
  EXPECT_TRUE(fails_with(count_entries(pax("10 path=\0a\n")),
                         "byte 0: Ignoring malformed pax extended attribute"));
}

TEST(BadTar, DataBehindTheEndMark) {
  Bytes archive = make::tar({{"a", {}, '0'}});
  archive.back() = std::byte{1};
  EXPECT_TRUE(fails_with(count_entries(archive), "data after the end mark"));
}

Bytes small_zip() {
  return make::zip({{"a", make::bytes_of("abc"), false}, {"b", make::counting(40), true}});
}

TEST(BadZip, TruncatedAnywhere) { expect_no_prefix_parses(small_zip(), unpack_all); }

TEST(BadZip, AnyByteChanged) { expect_total_on_changes(small_zip(), unpack_all); }

TEST(BadZip, WrongContentChecksum) {
  Bytes file = make::zip({{"a", make::bytes_of("abc"), false}});
  file[31] = std::byte{'z'};
  EXPECT_TRUE(fails_with(unpack_all(file), "entry 'a': ZIP bad CRC: 0x"));
}

TEST(BadZip, NamesThatLeadOut) {
  EXPECT_TRUE(fails_with(unpack_all(make::zip({{"../a", {}, false}})), "'../a': '..' in the name"));
  EXPECT_TRUE(fails_with(unpack_all(make::zip({{"/a", {}, false}})), "'/a': absolute name"));
  EXPECT_TRUE(fails_with(unpack_all(make::zip({{"", {}, false}})), "without a name"));
}

// One stored entry "a" of three bytes: its local header at 0, its directory entry at 34.
constexpr std::size_t kLocal = 0;
constexpr std::size_t kCentral = 34;

struct Change {
  std::size_t at;
  unsigned bytes;
  std::uint64_t value;
};
Result<std::size_t> unpack_changed(Bytes file, const std::vector<Change>& changes) {
  for (const Change& change : changes) {
    for (unsigned i = 0; i < change.bytes; ++i) {
      file[change.at + i] = static_cast<std::byte>(change.value >> (8 * i));
    }
  }
  return unpack_all(file);
}

TEST(BadZip, WhatIsNoPlainFile) {
  EXPECT_TRUE(fails_with(unpack_all(make::zip({{"a", {}, false}, {"a", {}, false}})),
                         "entry 'a': occurs twice"));
  const Bytes good = make::zip({{"a", make::bytes_of("abc"), false}});
  const auto with = [&](const std::vector<Change>& changes) {
    return unpack_changed(good, changes);
  };
  EXPECT_TRUE(fails_with(with({{kLocal + 8, 2, 77}, {kCentral + 10, 2, 77}}),
                         "entry 'a': Unsupported ZIP compression method (77"));
  EXPECT_TRUE(fails_with(with({{kLocal + 6, 2, 1}, {kCentral + 8, 2, 1}}), "entry 'a': encrypted"));
  // Made on Unix, with a symbolic link's mode.
  EXPECT_TRUE(fails_with(with({{kCentral + 4, 2, 0x0314}, {kCentral + 38, 4, 0xa1ff0000}}),
                         "entry 'a': symbolic link"));
}

// Header and directory must say the same: whoever reads one would see another file than whoever
// reads the other.
TEST(BadZip, SizesThatDoNotMatch) {
  const Bytes good = make::zip({{"a", make::bytes_of("abc"), false}});
  const auto with = [&](const std::vector<Change>& changes) {
    return unpack_changed(good, changes);
  };
  EXPECT_TRUE(fails_with(with({{kCentral + 20, 4, 0xfffffffe}}), "Inconsistent compressed size"));
  EXPECT_TRUE(fails_with(with({{kCentral + 20, 4, 0xffffffff}}), "Inconsistent compressed size"));
  EXPECT_TRUE(fails_with(with({{kCentral + 24, 4, 4}}), "Inconsistent uncompressed size"));
  EXPECT_TRUE(fails_with(with({{kLocal + 22, 4, 4}, {kCentral + 24, 4, 4}}),
                         "wrong size (read 3, expected 4)"));
  EXPECT_TRUE(fails_with(with({{kLocal + 18, 4, 4000}, {kCentral + 20, 4, 4000}}),
                         "unpacks to more than 3 bytes"));
  EXPECT_TRUE(fails_with(with({{kCentral + 42, 4, 100}}), "Truncated ZIP file header"));
  EXPECT_TRUE(fails_with(with({{kCentral + 42, 4, 0xfffffffe}}), ""));
  const std::size_t end = good.size() - 22;
  EXPECT_TRUE(fails_with(with({{end + 10, 2, 0xfffe}}), "not a zip archive"));
  EXPECT_TRUE(fails_with(with({{end + 12, 4, 0xfffffffe}}), ""));
  EXPECT_TRUE(fails_with(with({{end + 16, 4, 0xfffffffe}}), ""));
  EXPECT_TRUE(fails_with(with({{end + 10, 2, 0}}), "not a zip archive"));
}

TEST(BadZip, Bombs) {
  const Bytes zeros(1'000'000);
  const Bytes file = make::zip({{"a", zeros, true}, {"b", zeros, true}});
  ASSERT_LT(file.size(), 3000U);
  EXPECT_EQ(unpack_all(file).value(), 2U);
  const std::size_t central = file.size() - 22 - 2 * 47;
  // More than the entry says: the rest is not unpacked.
  EXPECT_TRUE(fails_with(unpack_changed(file, {{22, 4, 10}, {central + 24, 4, 10}}),
                         "entry 'a': unpacks to more than 10 bytes"));
  // Less: no memory was taken for what it says.
  EXPECT_TRUE(
      fails_with(unpack_changed(file, {{22, 4, 200'000'000}, {central + 24, 4, 200'000'000}}),
                 "wrong size (read 1000000, expected 200000000)"));
  // All that the directory says together is refused before anything is unpacked.
  EXPECT_TRUE(
      fails_with(unpack_changed(file, {{22, 4, 268'400'000}, {central + 24, 4, 268'400'000}}),
                 "entry 'b': the archive unpacks to more than the limit of 268435456 bytes"));
}

}  // namespace
}  // namespace sotto
