#include "driver/key_value.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <random>

namespace recompact {

namespace {

constexpr char kHexDigits[] = "0123456789abcdef";

// The length comes first, so that a value that was cut off shows it.
struct ValueHeader {
  uint32_t length;
  uint32_t version;
  uint64_t key_number;
};
static_assert(sizeof(ValueHeader) == kValueHeaderBytes,
              "the header is copied as it lies");

// The buffer is made of pieces, each of random bytes and then the bytes that
// stand one piece before, which Snappy stores as a copy.  A few bytes of a
// piece go to Snappy's tags and to those that it passes before it sees the
// copy.
constexpr int kPieceBytes = 100;
constexpr int kSnappyOverheadBytes = 7;

// Bodies begin at one of so many pieces: enough to keep the slices of
// neighbours apart, few enough to lie in a CPU's second-level cache.  Behind
// them the buffer goes on for the longest body.
constexpr uint64_t kFirstPieces = 10000;
constexpr size_t kBufferBytes = kFirstPieces * kPieceBytes + kMaxValueBytes;

}  // namespace

uint64_t MixBits(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

namespace {

// Each line undoes one of MixBits, from the last to the first; the factors are
// the inverses modulo 2^64.
uint64_t UnmixBits(uint64_t x) {
  x = (x ^ (x >> 31) ^ (x >> 62)) * 0x319642b2d24d8ec3u;
  x = (x ^ (x >> 27) ^ (x >> 54)) * 0x96de1b173f119089u;
  return x ^ (x >> 30) ^ (x >> 60);
}

template <uint64_t radix>
void WriteDigits(uint64_t number, char* key) {
  for (int i = kKeyBytes - 1; i >= 0; i--) {
    key[i] = kHexDigits[number % radix];
    number /= radix;
  }
  assert(number == 0);
}

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

void EncodeKey(uint64_t key_number, KeySpace space, char* key) {
  if (space.order == KeyOrder::kHashed) {
    WriteDigits<16>(MixBits(key_number ^ MixBits(space.seed)), key);
  } else {
    WriteDigits<10>(key_number, key);
  }
}

bool DecodeKey(const char* key, size_t size, KeySpace space,
               uint64_t* key_number) {
  if (size != kKeyBytes) return false;
  const bool hashed = space.order == KeyOrder::kHashed;
  const int radix = hashed ? 16 : 10;
  uint64_t number = 0;
  for (size_t i = 0; i < kKeyBytes; i++) {
    const int digit = HexValue(key[i]);
    if (digit < 0 || digit >= radix) return false;
    number = number * radix + digit;
  }
  *key_number = hashed ? UnmixBits(number) ^ MixBits(space.seed) : number;
  return true;
}

ValueGenerator::ValueGenerator(double compressibility) {
  assert(compressibility > 0 && compressibility <= 1);
  int random_bytes = kPieceBytes;
  if (compressibility < 1) {
    random_bytes = std::max(1, static_cast<int>(kPieceBytes * compressibility) -
                                   kSnappyOverheadBytes);
  }
  std::mt19937_64 random(301);
  buffer_.resize(kBufferBytes);
  for (size_t i = 0; i < kBufferBytes; i++) {
    const bool is_random =
        i < kPieceBytes || static_cast<int>(i % kPieceBytes) < random_bytes;
    buffer_[i] =
        is_random ? static_cast<char>(random()) : buffer_[i - kPieceBytes];
  }
}

const char* ValueGenerator::BodyOf(uint64_t key_number,
                                   uint32_t version) const {
  const uint64_t piece =
      MixBits(key_number + (uint64_t{version} << 40)) % kFirstPieces;
  return buffer_.data() + piece * kPieceBytes;
}

void ValueGenerator::Generate(uint64_t key_number, uint32_t version,
                              uint32_t length, char* value) const {
  assert(length > 0 && length <= kMaxValueBytes);
  const ValueHeader header = {length, version, key_number};
  const size_t header_bytes = std::min<size_t>(length, sizeof(header));
  std::memcpy(value, &header, header_bytes);
  std::memcpy(value + header_bytes, BodyOf(key_number, version),
              length - header_bytes);
}

bool ValueGenerator::Matches(uint64_t key_number, uint32_t version,
                             const char* value, size_t size) const {
  if (size == 0 || size > kMaxValueBytes) return false;
  const ValueHeader header = {static_cast<uint32_t>(size), version, key_number};
  const size_t header_bytes = std::min(size, sizeof(header));
  return std::memcmp(value, &header, header_bytes) == 0 &&
         std::memcmp(value + header_bytes, BodyOf(key_number, version),
                     size - header_bytes) == 0;
}

uint32_t ClaimedVersion(const char* value, size_t size) {
  ValueHeader header;
  assert(size >= sizeof(header));
  (void)size;
  std::memcpy(&header, value, sizeof(header));
  return header.version;
}

std::string DescribeValue(const char* value, size_t size) {
  ValueHeader header;
  const std::string bytes = std::to_string(size) + " bytes";
  if (size < sizeof(header)) return "a value of " + bytes;
  std::memcpy(&header, value, sizeof(header));
  return "version " + std::to_string(header.version) + " of key " +
         std::to_string(header.key_number) + ", written with " +
         std::to_string(header.length) + " bytes, here " + bytes;
}

}  // namespace recompact
