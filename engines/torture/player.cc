#include "torture/player.h"

#include <algorithm>
#include <memory>
#include <random>
#include <utility>

#include "torture/file_type.h"
#include "torture/history.h"
#include "torture/model.h"
#include "torture/simulated_env.h"

namespace recompact {

namespace {

using leveldb::Slice;
using leveldb::Status;

constexpr int kPlaysOfACandidate = 3;
constexpr char kPath[] = "/db";
constexpr size_t kOperationsPerCheck = 100;

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text.substr(0, 60)) {
    if (c >= ' ' && c <= '~') {
      quoted.push_back(c);
    } else {
      char code[8];
      std::snprintf(code, sizeof(code), "\\x%02x", c & 0xff);
      quoted += code;
    }
  }
  return quoted + (text.size() > 60 ? "...\"" : "\"");
}

std::string Quoted(const std::optional<std::string>& text) {
  return text ? Quoted(*text) : "nothing";
}

std::string Wrong(const std::string& what,
                  const std::optional<std::string>& found,
                  const std::optional<std::string>& expected) {
  return what + ": " + Quoted(found) + " instead of " + Quoted(expected);
}

class Player {
 public:
  Player(const EngineUnderTest& engine, const OptionMap& options)
      : env_(std::make_unique<SimulatedDisk>()) {
    std::string error;
    database_ = Database::Make(engine, options, &env_, kPath, &error);
    if (database_ == nullptr) failure_ = error;
  }
  ~Player() { ReleaseSnapshots(); }

  std::optional<Difference> Play(const std::vector<Operation>& operations) {
    if (failure_.empty()) Expect(database_->Open(), "open");
    for (size_t i = 0; i < operations.size() && failure_.empty(); i++) {
      version_ = i + 1;
      operation_ = i;
      Carry(operations[i]);
      if (i % 1000 == 0) model_.Forget(OldestVersion());
      if (i % kOperationsPerCheck == 0) CheckRules();
    }
    if (failure_.empty()) {
      const auto difference = CompareAll(database_.get(), model_, version_);
      if (difference) failure_ = *difference;
    }
    if (failure_.empty()) Reopen();
    if (failure_.empty()) return std::nullopt;
    return Difference{operation_, failure_};
  }

 private:
  struct HeldSnapshot {
    const leveldb::Snapshot* snapshot;
    uint64_t version;
  };

  void Expect(const Status& status, const char* what) {
    if (!status.ok() && failure_.empty()) {
      failure_ = std::string(what) + ": " + status.ToString();
    }
  }

  void Carry(const Operation& operation) {
    switch (operation.kind) {
      case Operation::kPut:
      case Operation::kDelete:
      case Operation::kBatch:
        return Write(operation);
      case Operation::kGet:
        return Get(operation);
      case Operation::kScan:
      case Operation::kReverseScan:
      case Operation::kZigZagScan:
        return Scan(operation);
      case Operation::kTakeSnapshot:
        if (snapshots_.size() < 8) {
          snapshots_.push_back({(*database_)->GetSnapshot(), version_});
        }
        return;
      case Operation::kReleaseSnapshot:
        if (!snapshots_.empty()) {
          const size_t i = operation.key % snapshots_.size();
          (*database_)->ReleaseSnapshot(snapshots_[i].snapshot);
          snapshots_.erase(snapshots_.begin() + i);
        }
        return;
      case Operation::kApproximateSizes:
        return ApproximateSizes(operation);
      case Operation::kCompactRange:
        return CompactRange(operation);
      case Operation::kReopen:
        return Reopen();
      case Operation::kKinds:
        return;
    }
  }

  void Write(const Operation& operation) {
    Expect(WriteTo(database_.get(), operation, version_), "write");
    model_.Apply(operation, version_);
  }

  // What a read of this operation sees.
  uint64_t ReadAt(const Operation& operation, leveldb::ReadOptions* options) {
    const size_t i = operation.snapshot % (snapshots_.size() + 1);
    options->snapshot = i == 0 ? nullptr : snapshots_[i - 1].snapshot;
    return i == 0 ? version_ : snapshots_[i - 1].version;
  }

  void Get(const Operation& operation) {
    leveldb::ReadOptions options;
    const uint64_t version = ReadAt(operation, &options);
    const std::string key = KeyOf(operation.key);
    std::string value;
    const Status status = (*database_)->Get(options, key, &value);
    std::optional<std::string> found;
    if (status.ok()) {
      found = value;
    } else if (!status.IsNotFound()) {
      return Expect(status, "get");
    }
    const auto expected = model_.Get(key, version);
    if (found != expected) {
      failure_ = Wrong("get " + Quoted(key), found, expected);
    }
  }

  void Scan(const Operation& operation) {
    leveldb::ReadOptions options;
    const uint64_t version = ReadAt(operation, &options);
    const std::vector<std::string> keys = model_.Keys(version);
    const std::unique_ptr<leveldb::Iterator> iterator(
        (*database_)->NewIterator(options));
    const std::string from = KeyOf(operation.key);
    auto place = static_cast<int64_t>(
        std::lower_bound(keys.begin(), keys.end(), from) - keys.begin());
    iterator->Seek(from);
    std::mt19937 turns(operation.key);
    for (uint32_t i = 0; i < operation.length; i++) {
      const bool inside =
          place >= 0 && place < static_cast<int64_t>(keys.size());
      std::optional<std::string> key, value;
      if (iterator->Valid()) {
        key = iterator->key().ToString();
        value = iterator->value().ToString();
      }
      const std::string what =
          "scan from " + Quoted(from) + ", step " + std::to_string(i);
      const std::optional<std::string> expected_key =
          inside ? std::optional<std::string>(keys[place]) : std::nullopt;
      if (key != expected_key) {
        failure_ = Wrong(what + ", key", key, expected_key);
      } else if (inside && value != model_.Get(keys[place], version)) {
        failure_ = Wrong(what + ", value of " + Quoted(*key), value,
                         model_.Get(keys[place], version));
      }
      if (!inside || !failure_.empty()) break;
      const bool back =
          operation.kind == Operation::kReverseScan ||
          (operation.kind == Operation::kZigZagScan && turns() % 2 == 0);
      back ? iterator->Prev() : iterator->Next();
      place += back ? -1 : 1;
    }
    Expect(iterator->status(), "scan");
  }

  // Sizes of neighbouring ranges add up, and none is larger than the whole.
  void ApproximateSizes(const Operation& operation) {
    std::vector<std::string> keys = {
        KeyOf(operation.key), KeyOf((operation.key * 7 + 1) % kKeyCount),
        KeyOf((operation.key * 13 + 2) % kKeyCount)};
    std::sort(keys.begin(), keys.end());
    const std::string last(50, '\xff');
    const leveldb::Range ranges[] = {
        {keys[0], keys[1]}, {keys[1], keys[2]}, {keys[0], keys[2]}, {"", last}};
    uint64_t sizes[4];
    (*database_)->GetApproximateSizes(ranges, 4, sizes);
    if (sizes[0] + sizes[1] != sizes[2] || sizes[2] > sizes[3]) {
      failure_ =
          "approximate sizes do not add up: " + std::to_string(sizes[0]) +
          " + " + std::to_string(sizes[1]) + ", together " +
          std::to_string(sizes[2]) + ", of " + std::to_string(sizes[3]);
    }
  }

  void CompactRange(const Operation& operation) {
    std::string from = KeyOf(operation.key);
    std::string to = KeyOf((operation.key + operation.length) % kKeyCount);
    if (to < from) std::swap(from, to);
    const Slice begin = from, end = to;
    const bool everything = operation.length == 0;
    (*database_)
        ->CompactRange(everything ? nullptr : &begin,
                       everything ? nullptr : &end);
  }

  void Reopen() {
    ReleaseSnapshots();
    database_->Close();
    env_.WaitIdle();
    Expect(database_->Open(), "reopen");
    if (!failure_.empty()) return;
    WaitIdle();
    CheckRules();
    CheckOrphans();
  }

  // Waits for the threads of the environment, and for an engine's own.
  void WaitIdle() {
    env_.WaitIdle();
    std::string idle;
    while ((*database_)->GetProperty("recompact.idle", &idle) && idle == "0") {
      env_.SleepForMicroseconds(100);
    }
  }

  // The engine's own rules of its tree; an unpatched tree has none to tell.
  void CheckRules() {
    std::string problem;
    if ((*database_)->GetProperty("recompact.check", &problem) &&
        !problem.empty() && failure_.empty()) {
      failure_ = problem;
    }
  }

  // REQUIRES: no background work, no iterator
  void CheckOrphans() {
    int held = 0;
    std::string files;
    if ((*database_)->GetProperty("recompact.tables", &files)) {
      held = std::stoi(files);
    } else {  // An unpatched tree has levels only
      for (int level = 0; (*database_)
                              ->GetProperty("leveldb.num-files-at-level" +
                                                std::to_string(level),
                                            &files);
           level++) {
        held += std::stoi(files);
      }
    }
    int on_disk = 0;
    for (const auto& [name, file] : env_.disk().directory()) {
      if (FileTypeOf(name) == "table") on_disk++;
    }
    if (held != on_disk) {
      failure_ = std::to_string(on_disk) + " tables on disk, " +
                 std::to_string(held) + " in the tree after a reopen";
    }
  }

  void ReleaseSnapshots() {
    for (const HeldSnapshot& held : snapshots_) {
      (*database_)->ReleaseSnapshot(held.snapshot);
    }
    snapshots_.clear();
  }

  uint64_t OldestVersion() const {
    uint64_t oldest = version_;
    for (const HeldSnapshot& held : snapshots_) {
      oldest = std::min(oldest, held.version);
    }
    return oldest;
  }

  SimulatedEnv env_;
  std::unique_ptr<Database> database_;
  Model model_;
  std::vector<HeldSnapshot> snapshots_;
  uint64_t version_ = 0;
  size_t operation_ = 0;
  std::string failure_;
};

}  // namespace

std::optional<Difference> Play(const EngineUnderTest& engine,
                               const OptionMap& options,
                               const std::vector<Operation>& operations) {
  return Player(engine, options).Play(operations);
}

std::vector<Operation> Shrink(const EngineUnderTest& engine,
                              const OptionMap& options,
                              std::vector<Operation> operations,
                              std::chrono::seconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  const auto differs = [&](const std::vector<Operation>& candidate) {
    for (int i = 0; i < kPlaysOfACandidate; i++) {
      if (Play(engine, options, candidate)) return true;
    }
    return false;
  };
  for (size_t run = operations.size() / 2; run > 0; run /= 2) {
    for (size_t from = 0; from < operations.size();) {
      if (std::chrono::steady_clock::now() > end) return operations;
      std::vector<Operation> candidate = operations;
      candidate.erase(
          candidate.begin() + from,
          candidate.begin() + std::min(from + run, candidate.size()));
      if (differs(candidate)) {
        operations = std::move(candidate);
      } else {
        from += run;
      }
    }
  }
  return operations;
}

std::optional<std::string> CompareAll(Database* database, const Model& model,
                                      uint64_t version) {
  const std::vector<std::string> keys = model.Keys(version);
  const std::unique_ptr<leveldb::Iterator> iterator(
      (*database)->NewIterator(leveldb::ReadOptions()));
  size_t i = 0;
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next(), i++) {
    const std::string key = iterator->key().ToString();
    if (i >= keys.size() || key != keys[i]) {
      return "forward: " + Quoted(key) + " is not expected";
    }
    const auto expected = model.Get(key, version);
    if (iterator->value().ToString() != expected) {
      return Wrong("forward, " + Quoted(key), iterator->value().ToString(),
                   expected);
    }
  }
  if (!iterator->status().ok()) return iterator->status().ToString();
  if (i < keys.size()) return "forward: " + Quoted(keys[i]) + " is missing";
  for (iterator->SeekToLast(); iterator->Valid(); iterator->Prev(), i--) {
    if (i == 0 || iterator->key().ToString() != keys[i - 1]) {
      return "backward: " + Quoted(iterator->key().ToString()) +
             " is not expected";
    }
  }
  if (!iterator->status().ok()) return iterator->status().ToString();
  if (i > 0) return "backward: " + Quoted(keys[i - 1]) + " is missing";
  for (uint32_t number = 0; number < kKeyCount; number++) {
    const std::string key = KeyOf(number);
    std::string value;
    const Status status = (*database)->Get(leveldb::ReadOptions(), key, &value);
    std::optional<std::string> found;
    if (status.ok()) {
      found = value;
    } else if (!status.IsNotFound()) {
      return status.ToString();
    }
    const auto expected = model.Get(key, version);
    if (found != expected) return Wrong("get " + Quoted(key), found, expected);
  }
  return std::nullopt;
}

}  // namespace recompact
