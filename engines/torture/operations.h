#ifndef RECOMPACT_ENGINES_TORTURE_OPERATIONS_H_
#define RECOMPACT_ENGINES_TORTURE_OPERATIONS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace recompact {

// One operation of a stream.  Its place in the stream is the version of what
// it writes.
struct Operation {
  enum Kind {
    kPut,
    kDelete,
    kBatch,  // see WritesOf
    kGet,
    kScan,         // `length` steps forward from `key`
    kReverseScan,  // the same backward
    kZigZagScan,   // the same, turning round at random
    kTakeSnapshot,
    kReleaseSnapshot,
    kApproximateSizes,
    kCompactRange,  // `length` keys from `key` on; everything if 0
    kReopen,
    kKinds
  };
  Kind kind;
  uint32_t key;     // number of a key, see KeyOf
  uint32_t length;  // of a value, batch, scan or range
  // A read goes to the snapshot of this number, modulo the snapshots that are
  // held plus one; 0 reads the present.
  uint32_t snapshot;
  bool sync;
};

// How many different keys a stream uses.
constexpr uint32_t kKeyCount = 600;

// A stream of operations; the same seed gives the same stream.
std::vector<Operation> Generate(uint64_t seed, size_t count);

// Only puts, deletions and batches, about a third of them synced: what the
// crash tests issue.
std::vector<Operation> GenerateWrites(uint64_t seed, size_t count);

// What a put, deletion or batch writes, in order.  A batch writes `length` keys
// from `key` on, deletes every third, and writes the first once more at the
// end.
struct KeyWrite {
  uint32_t key;
  bool deletes;
  uint32_t length;  // of the value
};
std::vector<KeyWrite> WritesOf(const Operation& operation);

// Keys of many shapes: empty, two bytes, zeros and 0xff, long common prefixes.
// Different numbers give different keys.
std::string KeyOf(uint32_t number);

// The value that version `version` of a key has: its bytes tell the key, the
// version and the length, so that no two are the same.
std::string ValueOf(uint32_t key, uint64_t version, uint32_t length);

// The operation as one line of text.
std::string ToText(const Operation& operation);

}  // namespace recompact

#endif  // RECOMPACT_ENGINES_TORTURE_OPERATIONS_H_
