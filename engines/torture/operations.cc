#include "torture/operations.h"

#include <array>
#include <random>

namespace recompact {

namespace {

// How often each kind comes, of 1000.
constexpr std::array<uint32_t, Operation::kKinds> kWeights = {
    400,  // kPut
    110,  // kDelete
    60,   // kBatch
    300,  // kGet
    40,   // kScan
    30,   // kReverseScan
    20,   // kZigZagScan
    14,   // kTakeSnapshot
    14,   // kReleaseSnapshot
    9,    // kApproximateSizes
    2,    // kCompactRange
    1     // kReopen
};

constexpr std::array<const char*, Operation::kKinds> kNames = {
    "put",          "delete",        "batch",
    "get",          "scan",          "reverse_scan",
    "zigzag_scan",  "take_snapshot", "release_snapshot",
    "approx_sizes", "compact_range", "reopen"};

Operation::Kind Draw(std::mt19937_64* random) {
  uint32_t place = static_cast<uint32_t>((*random)() % 1000);
  for (int kind = 0; kind < Operation::kKinds; kind++) {
    if (place < kWeights[kind]) return static_cast<Operation::Kind>(kind);
    place -= kWeights[kind];
  }
  return Operation::kGet;
}

// Mostly short, sometimes larger than a block, a file or a memtable.
uint32_t ValueLength(std::mt19937_64* random) {
  const uint64_t r = (*random)();
  if (r % 100 == 0) return static_cast<uint32_t>(r / 100 % 20000);
  if (r % 10 == 0) return 0;
  return static_cast<uint32_t>(r / 100 % 100);
}

Operation Complete(Operation::Kind kind, std::mt19937_64* random) {
  Operation operation{kind, 0, 0, 0, false};
  const uint64_t r = (*random)();
  // A tenth of the keys takes half of the operations.
  operation.key = static_cast<uint32_t>(r % 2 == 0 ? r / 2 % (kKeyCount / 10)
                                                   : r / 2 % kKeyCount);
  operation.snapshot = static_cast<uint32_t>((*random)() % 8);
  operation.sync = (*random)() % 3 == 0;
  switch (kind) {
    case Operation::kPut:
      operation.length = ValueLength(random);
      break;
    case Operation::kBatch:
    case Operation::kScan:
    case Operation::kReverseScan:
    case Operation::kZigZagScan:
      operation.length = 1 + static_cast<uint32_t>((*random)() % 20);
      break;
    case Operation::kCompactRange:
      operation.length =
          r % 8 == 0 ? 0 : 1 + static_cast<uint32_t>((*random)() % 200);
      break;
    default:
      break;
  }
  return operation;
}

}  // namespace

std::vector<Operation> Generate(uint64_t seed, size_t count) {
  std::mt19937_64 random(seed);
  std::vector<Operation> operations;
  operations.reserve(count);
  for (size_t i = 0; i < count; i++) {
    operations.push_back(Complete(Draw(&random), &random));
  }
  return operations;
}

std::vector<Operation> GenerateWrites(uint64_t seed, size_t count) {
  std::mt19937_64 random(seed);
  std::vector<Operation> operations;
  while (operations.size() < count) {
    const Operation::Kind kind = Draw(&random);
    if (kind > Operation::kBatch) continue;
    operations.push_back(Complete(kind, &random));
  }
  return operations;
}

std::vector<KeyWrite> WritesOf(const Operation& operation) {
  if (operation.kind != Operation::kBatch) {
    return {{operation.key, operation.kind == Operation::kDelete,
             operation.length}};
  }
  std::vector<KeyWrite> writes;
  for (uint32_t i = 0; i < operation.length; i++) {
    writes.push_back({(operation.key + i) % kKeyCount, i % 3 == 2, i});
  }
  writes.push_back({operation.key, false, 2 * operation.length});
  return writes;
}

std::string KeyOf(uint32_t number) {
  if (number == 0) return "";
  const std::string digits = std::to_string(number);
  switch (number % 4) {
    case 0:
      return {static_cast<char>(number >> 8), static_cast<char>(number)};
    case 1:
      return "key" + digits;
    case 2:
      return std::string(40, 'a') + digits;
    default:
      return std::string("\xff\x00\xff", 3) + digits + std::string(1, '\0');
  }
}

std::string ValueOf(uint32_t key, uint64_t version, uint32_t length) {
  const std::string head = std::to_string(key) + "@" + std::to_string(version) +
                           "+" + std::to_string(length) + ":";
  std::string value = head;
  // Every other value does not compress.
  std::mt19937 random(static_cast<uint32_t>(version * 2654435761u + key));
  while (value.size() < head.size() + length) {
    value.push_back(version % 2 == 0 ? 'v' : static_cast<char>(random()));
  }
  return value;
}

std::string ToText(const Operation& operation) {
  return std::string(kNames[operation.kind]) + " key " +
         std::to_string(operation.key) + " length " +
         std::to_string(operation.length) + " snapshot " +
         std::to_string(operation.snapshot) + (operation.sync ? " sync" : "");
}

}  // namespace recompact
