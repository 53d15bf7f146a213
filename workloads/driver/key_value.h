#ifndef RECOMPACT_WORKLOADS_DRIVER_KEY_VALUE_H_
#define RECOMPACT_WORKLOADS_DRIVER_KEY_VALUE_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace recompact {

constexpr size_t kKeyBytes = 16;
constexpr uint32_t kMaxValueBytes = 1 << 20;
constexpr size_t kValueHeaderBytes = 16;

enum class KeyOrder {
  kHashed,   // Insertion in key-number order is random in key space
  kOrdered,  // Key order is key-number order
};

// Which keys the key numbers stand for.
struct KeySpace {
  KeyOrder order = KeyOrder::kHashed;
  uint64_t seed = 0;  // Of hashed keys; with another one they are others
};

// A bijective mix of 64 bits (the finaliser of splitmix64).
uint64_t MixBits(uint64_t x);

// Writes the key of "key_number" to key[0, kKeyBytes): 16 hexadecimal digits of
// MixBits(key_number ^ MixBits(seed)), or 16 decimal digits of key_number.
// REQUIRES: key_number < 10^16 if the order is kOrdered
void EncodeKey(uint64_t key_number, KeySpace space, char* key);

// The inverse; false if key[0, size) is not such a key.
bool DecodeKey(const char* key, size_t size, KeySpace space,
               uint64_t* key_number);

// Makes and checks self-verifying values.  A value is a pure function of
// (key_number, version, length, compressibility): a header of kValueHeaderBytes
// (length, version, key number; cut off if the value is shorter) and a slice of
// one buffer that Snappy shrinks to "compressibility" of its size, at an offset
// drawn from key number and version.  Immutable and so safe to share.
class ValueGenerator {
 public:
  // REQUIRES: 0 < compressibility <= 1
  explicit ValueGenerator(double compressibility);

  // Writes the value to value[0, length).
  // REQUIRES: 0 < length <= kMaxValueBytes
  void Generate(uint64_t key_number, uint32_t version, uint32_t length,
                char* value) const;

  // True iff value[0, size) is the value of that version of the key at the
  // length that it was written with.
  bool Matches(uint64_t key_number, uint32_t version, const char* value,
               size_t size) const;

 private:
  const char* BodyOf(uint64_t key_number, uint32_t version) const;

  std::string buffer_;
};

// The version that a value claims to be.
// REQUIRES: size >= kValueHeaderBytes
uint32_t ClaimedVersion(const char* value, size_t size);

// What a value claims to be, for a message: "version 3 of key 17, 100 bytes".
std::string DescribeValue(const char* value, size_t size);

}  // namespace recompact

#endif  // RECOMPACT_WORKLOADS_DRIVER_KEY_VALUE_H_
