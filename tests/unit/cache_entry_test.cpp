// The file format of the disk cache: what is damaged or foreign is told apart, never trusted.
// SPDX-License-Identifier: MIT
#include "runtime/cache_entry.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace salvo::runtime {
namespace {

constexpr std::size_t kHeaderBytes = 19 * 8;

CacheKey key_of(std::string_view code) {
  return {.device = digest_of({"OpenCL", "platform", "vendor", "device"}),
          .driver = digest_of({"driver 1"}),
          .compiler = digest_of({"compiler 1"}),
          .salvo = digest_of({"salvo 1"}),
          .options = digest_of({"-O2"}),
          .code = digest_of({code})};
}

std::vector<std::byte> bytes_of(std::string_view text) {
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

class CacheEntry : public testing::Test {
 protected:
  const CacheKey key = key_of("kernel void k() {}");
  const std::vector<std::byte> binary =
      bytes_of("machine code of some length, not a multiple of 8");
  const std::vector<std::byte> file = encode_entry(key, binary);

  static CacheLookup result(const CacheKey& wanted, std::span<const std::byte> bytes) {
    const DecodedEntry entry = decode_entry(wanted, bytes);
    EXPECT_EQ(entry.result == CacheLookup::found, entry.binary.data() != nullptr);
    return entry.result;
  }
};

TEST_F(CacheEntry, GivesBackWhatWasStored) {
  ASSERT_EQ(file.size(), kHeaderBytes + binary.size());
  const DecodedEntry entry = decode_entry(key, file);
  EXPECT_EQ(entry.result, CacheLookup::found);
  EXPECT_TRUE(std::ranges::equal(entry.binary, binary));
}

TEST_F(CacheEntry, IsRefusedWhenCutShortAtAnyByte) {
  for (std::size_t length = 0; length < file.size(); ++length) {
    EXPECT_EQ(result(key, std::span(file).first(length)), CacheLookup::truncated) << length;
  }
}

TEST_F(CacheEntry, IsRefusedWhenAnyBitIsFlipped) {
  for (std::size_t bit = 0; bit < 8 * file.size(); ++bit) {
    std::vector<std::byte> damaged = file;
    damaged[bit / 8] ^= std::byte{1} << (bit % 8);
    const CacheLookup expected = bit < 64    ? CacheLookup::not_an_entry
                                 : bit < 128 ? CacheLookup::other_format
                                             : CacheLookup::corrupt;
    ASSERT_EQ(result(key, damaged), expected) << "bit " << bit;
  }
}

TEST_F(CacheEntry, IsRefusedWithBytesAfterItsEnd) {
  std::vector<std::byte> longer = file;
  longer.push_back(std::byte{0});
  EXPECT_EQ(result(key, longer), CacheLookup::corrupt);
}

TEST_F(CacheEntry, OfAnotherFormatIsRefusedHoweverItGoesOn) {
  std::vector<std::byte> newer = bytes_of("SALVOCHE");
  std::ranges::copy(file, std::back_inserter(newer));
  std::ranges::copy_n(file.begin(), 8, newer.begin());
  newer[8] = std::byte{2};
  std::fill_n(newer.begin() + 9, 7, std::byte{0});
  EXPECT_EQ(result(key, newer), CacheLookup::other_format);
  EXPECT_EQ(result(key, std::span(newer).first(16)), CacheLookup::other_format);
}

TEST_F(CacheEntry, TellsWhichPartOfTheKeyDiffers) {
  const auto differing = [&](ir::Digest CacheKey::*part) {
    CacheKey other = key;
    (other.*part).low ^= 1;
    EXPECT_NE(entry_name(other), entry_name(key));
    return result(other, file);
  };
  EXPECT_EQ(differing(&CacheKey::device), CacheLookup::other_device);
  EXPECT_EQ(differing(&CacheKey::driver), CacheLookup::other_driver);
  EXPECT_EQ(differing(&CacheKey::compiler), CacheLookup::other_compiler);
  EXPECT_EQ(differing(&CacheKey::salvo), CacheLookup::other_salvo);
  EXPECT_EQ(differing(&CacheKey::options), CacheLookup::other_options);
  EXPECT_EQ(differing(&CacheKey::code), CacheLookup::other_code);
}

TEST_F(CacheEntry, IsNamedByAllPartsOfTheKey) {
  EXPECT_EQ(entry_name(key).size(), 32U);
  EXPECT_EQ(entry_name(key), entry_name(key_of("kernel void k() {}")));
  EXPECT_NE(entry_name(key), entry_name(key_of("kernel void l() {}")));
}

TEST(CacheKeyParts, AreToldApartByWhereTheyEnd) {
  EXPECT_NE(digest_of({"ab", "c"}), digest_of({"a", "bc"}));
  EXPECT_NE(digest_of({"a"}), digest_of({"a", ""}));
  EXPECT_EQ(digest_of({"a", "b"}), digest_of({"a", "b"}));
}

}  // namespace
}  // namespace salvo::runtime
