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
  EXPECT_TRUE(fails_with(read_npz(home / "packed.npz"), "packed.npz: no zip end record"));
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
  EXPECT_TRUE(fails_with(inflate_exactly(packed, Wrapping::kZlib, std::size_t{1} << 60),
                         "compressed bytes cannot hold"));
  EXPECT_TRUE(fails_with(inflate_exactly(packed, Wrapping::kZlib, 9), "more than 9 bytes"));
  EXPECT_TRUE(fails_with(inflate_exactly(packed, Wrapping::kZlib, 11), "10 bytes, expected 11"));
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
  const std::pair<char, const char*> kinds[] = {
      {'1', "hard link"}, {'2', "symbolic link"}, {'3', "device"},  {'4', "device"},
      {'6', "pipe"},      {'S', "sparse file"},   {'Z', "type 'Z'"}};
  for (const auto& [type, text] : kinds) {
    const auto result = count_entries(make::tar({{"ok", {}, '0'}, {"evil", {}, type}}));
    EXPECT_TRUE(fails_with(result, text));
    EXPECT_TRUE(fails_with(result, "entry 'evil'"));
  }
}

TEST(BadTar, WrongChecksum) {
  Bytes archive = make::tar({{"a", make::counting(3), '0'}});
  archive[0] = std::byte{'b'};
  EXPECT_TRUE(fails_with(count_entries(archive), "byte 0: wrong tar header checksum"));
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
                         "claims 18446744073709551615 bytes"));
  EXPECT_TRUE(
      fails_with(count_entries(pax("30 size=184467440737095516150\n")), "malformed pax size"));
  EXPECT_TRUE(fails_with(count_entries(pax("99 path=a\n")), "malformed pax header"));
  EXPECT_TRUE(fails_with(count_entries(pax("3 \n")), "malformed pax header"));
  EXPECT_TRUE(fails_with(count_entries(pax("1")), "malformed pax header"));
  EXPECT_TRUE(fails_with(count_entries(pax("10 path=\0a\n")), "malformed pax header"));
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
  EXPECT_TRUE(fails_with(unpack_all(file), "entry 'a': CRC 0x"));
}

TEST(BadZip, NamesTwiceAndOtherMethods) {
  EXPECT_TRUE(fails_with(unpack_all(make::zip({{"a", {}, false}, {"a", {}, false}})),
                         "entry 'a': occurs twice"));
  Bytes file = make::zip({{"a", make::bytes_of("abc"), false}});
  file[34 + 10] = std::byte{12};
  EXPECT_TRUE(fails_with(unpack_all(file), "compression method 12"));
  file[34 + 8] = std::byte{1};
  EXPECT_TRUE(fails_with(unpack_all(file), "encrypted"));
}

TEST(BadZip, AbsurdSizes) {
  // In the directory entry at byte 34: packed size at 20, size at 24, local header at 42.
  const Bytes good = make::zip({{"a", make::bytes_of("abc"), false}});
  const auto with = [&](std::size_t at, unsigned bytes, std::uint64_t value) {
    Bytes file = good;
    for (unsigned i = 0; i < bytes; ++i) file[at + i] = static_cast<std::byte>(value >> (8 * i));
    return unpack_all(file);
  };
  EXPECT_TRUE(fails_with(with(34 + 20, 4, 0xfffffffe), "lies outside the file"));
  EXPECT_TRUE(fails_with(with(34 + 20, 4, 0xffffffff), "zip64 field is missing"));
  EXPECT_TRUE(fails_with(with(34 + 24, 4, 0xfffffffe), "unpacks to more than the limit"));
  EXPECT_TRUE(fails_with(with(34 + 24, 4, 4), "stored with two sizes"));
  EXPECT_TRUE(fails_with(with(34 + 42, 4, 100), "no local header"));
  EXPECT_TRUE(fails_with(with(34 + 42, 4, 0xfffffffe), "lies outside the file"));
  const std::size_t end = good.size() - 22;
  EXPECT_TRUE(fails_with(with(end + 10, 2, 0xfffe), "claims 65534 entries"));
  EXPECT_TRUE(fails_with(with(end + 12, 4, 0xfffffffe), "lies outside the file"));
  EXPECT_TRUE(fails_with(with(end + 16, 4, 0xfffffffe), "lies outside the file"));
  EXPECT_TRUE(fails_with(with(end + 10, 2, 0), "bytes after its last entry"));
}

TEST(BadZip, DeflatedSizeThatCannotBe) {
  Bytes file = make::zip({{"a", make::counting(10), true}});
  const std::size_t directory = file.size() - 22 - 47;
  file[directory + 24 + 2] = std::byte{0x7f};
  EXPECT_TRUE(fails_with(unpack_all(file), "compressed bytes cannot hold"));
  file[directory + 24 + 3] = std::byte{0x7f};
  EXPECT_TRUE(fails_with(unpack_all(file), "unpacks to more than the limit"));
}

}  // namespace
}  // namespace sotto
