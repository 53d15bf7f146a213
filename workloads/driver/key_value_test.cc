#include "driver/key_value.h"

#include <snappy.h>

#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace recompact {
namespace {

std::string Key(uint64_t key_number, KeySpace space) {
  std::string key(kKeyBytes, '\0');
  EncodeKey(key_number, space, key.data());
  return key;
}

std::string Value(const ValueGenerator& values, uint64_t key_number,
                  uint32_t version, uint32_t length) {
  std::string value(length, '\0');
  values.Generate(key_number, version, length, value.data());
  return value;
}

bool Matches(const ValueGenerator& values, uint64_t key_number,
             uint32_t version, const std::string& value) {
  return values.Matches(key_number, version, value.data(), value.size());
}

TEST(KeyTest, OrderedKeysAreDecimal) {
  EXPECT_EQ(Key(0, {KeyOrder::kOrdered}), "0000000000000000");
  EXPECT_EQ(Key(1234567, {KeyOrder::kOrdered}), "0000000001234567");
  EXPECT_LT(Key(99, {KeyOrder::kOrdered}), Key(100, {KeyOrder::kOrdered}));
}

TEST(KeyTest, HashedKeysAreTheHexadecimalMix) {
  // The finaliser's published value for 1.
  EXPECT_EQ(MixBits(1), 0x5692161d100b05e5u);
  EXPECT_EQ(Key(1, {}), "5692161d100b05e5");
}

TEST(KeyTest, KeysTellTheirNumber) {
  for (const KeySpace space : {KeySpace{}, KeySpace{KeyOrder::kHashed, 7},
                               KeySpace{KeyOrder::kOrdered, 7}}) {
    for (uint64_t n = 0; n < 9999999999999999u; n = n * 3 + 1) {
      uint64_t decoded = 0;
      const std::string key = Key(n, space);
      ASSERT_TRUE(DecodeKey(key.data(), key.size(), space, &decoded));
      ASSERT_EQ(decoded, n);
    }
  }
}

TEST(KeyTest, AnotherSeedHasOtherKeys) {
  std::set<std::string> keys;
  for (uint64_t seed = 0; seed < 3; seed++) {
    for (uint64_t n = 0; n < 1000; n++) {
      keys.insert(Key(n, {KeyOrder::kHashed, seed}));
    }
  }
  EXPECT_EQ(keys.size(), 3000u);
  EXPECT_EQ(Key(5, {KeyOrder::kOrdered, 1}), Key(5, {KeyOrder::kOrdered, 2}));
}

TEST(KeyTest, OtherTextsAreNoKeys) {
  uint64_t decoded;
  for (const std::string text :
       {"", "000000000000001", "00000000000000000", "000000000000000G"}) {
    EXPECT_FALSE(DecodeKey(text.data(), text.size(), {}, &decoded)) << text;
  }
  const std::string hexadecimal = "000000000000000a";
  EXPECT_FALSE(DecodeKey(hexadecimal.data(), hexadecimal.size(),
                         {KeyOrder::kOrdered}, &decoded));
}

TEST(KeyTest, HashedKeysAreSpreadEvenly) {
  int first_digits[16] = {};
  for (uint64_t n = 0; n < 16000; n++) {
    const std::string digit = Key(n, {}).substr(0, 1);
    first_digits[std::stoi(digit, nullptr, 16)]++;
  }
  for (const int count : first_digits) {
    EXPECT_GT(count, 850);
    EXPECT_LT(count, 1150);
  }
}

TEST(ValueTest, IsAFunctionOfKeyVersionAndLength) {
  const ValueGenerator values(0.5), again(0.5);
  EXPECT_EQ(Value(values, 5, 2, 1000), Value(again, 5, 2, 1000));
  std::set<std::string> distinct;
  for (uint64_t key = 0; key < 20; key++) {
    for (uint32_t version = 1; version < 20; version++) {
      distinct.insert(Value(values, key, version, 100));
    }
  }
  EXPECT_EQ(distinct.size(), 20u * 19);
}

TEST(ValueTest, MatchesOnlyItself) {
  const ValueGenerator values(0.5);
  for (const uint32_t length : {1u, 15u, 16u, 17u, 1000u, kMaxValueBytes}) {
    std::string value = Value(values, 77, 3, length);
    EXPECT_TRUE(Matches(values, 77, 3, value));
    for (const size_t at : {size_t{0}, value.size() / 2, value.size() - 1}) {
      value[at] ^= 1;
      EXPECT_FALSE(Matches(values, 77, 3, value)) << length << " " << at;
      value[at] ^= 1;
    }
    if (length < kValueHeaderBytes) continue;
    EXPECT_FALSE(Matches(values, 77, 4, value)) << length;
    EXPECT_FALSE(Matches(values, 78, 3, value)) << length;
  }
}

TEST(ValueTest, NoticesLostAndAddedBytes) {
  const ValueGenerator values(0.5);
  const std::string value = Value(values, 1, 1, 100);
  for (size_t size = 0; size < value.size(); size++) {
    EXPECT_FALSE(Matches(values, 1, 1, value.substr(0, size))) << size;
  }
  EXPECT_FALSE(Matches(values, 1, 1, Value(values, 1, 1, 101).substr(0, 100)));
  EXPECT_FALSE(Matches(values, 1, 1, value + "x"));
}

TEST(ValueTest, TellsWhatItClaimsToBe) {
  const ValueGenerator values(0.5);
  const std::string value = Value(values, 42, 9, 64);
  EXPECT_EQ(ClaimedVersion(value.data(), value.size()), 9u);
  EXPECT_EQ(DescribeValue(value.data(), 60),
            "version 9 of key 42, written with 64 bytes, here 60 bytes");
  EXPECT_EQ(DescribeValue(value.data(), 3), "a value of 3 bytes");
}

// A block of values as an engine hands it to Snappy.
double SnappyRatio(double compressibility) {
  const ValueGenerator values(compressibility);
  size_t bytes = 0, compressed_bytes = 0;
  for (uint64_t n = 0; n < 400; n += 4) {
    std::string block, compressed;
    for (uint64_t key = n; key < n + 4; key++) {
      block += Key(key, {}) + Value(values, key, 1, 1000);
    }
    snappy::Compress(block.data(), block.size(), &compressed);
    bytes += block.size();
    compressed_bytes += compressed.size();
  }
  return static_cast<double>(compressed_bytes) / static_cast<double>(bytes);
}

TEST(ValueTest, SnappyReachesTheStatedRatio) {
  EXPECT_NEAR(SnappyRatio(0.25), 0.25, 0.05);
  EXPECT_NEAR(SnappyRatio(0.5), 0.5, 0.02);
  EXPECT_NEAR(SnappyRatio(0.75), 0.75, 0.02);
  EXPECT_GT(SnappyRatio(1), 0.97);
}

}  // namespace
}  // namespace recompact
