#include "driver/replay.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <thread>

#include "driver/start_thread.h"
#include "simulator/work.h"

namespace recompact {

namespace {

// A sleeping thread wakes late by some tens of microseconds, which an open loop
// would count as latency; the last stretch is spent awake.
constexpr int64_t kAwakeNs = 100 * 1000;

// The versions do not fit a CPU's caches: fetch them this many operations
// ahead.
constexpr size_t kPrefetchDistance = 8;

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

int64_t ToNs(double seconds) { return static_cast<int64_t>(seconds * 1e9); }

void WaitUntilNs(Clock* clock, int64_t intended_ns) {
  if (clock->NowNs() < intended_ns - kAwakeNs) {
    clock->SleepUntilNs(intended_ns - kAwakeNs);
  }
  while (clock->NowNs() < intended_ns) {
  }
}

// Whether a key of which this was known before a read, and after it, may have
// been without a value in between.
bool MayBeAbsent(const KeyState& before, const KeyState& after) {
  return !before.present || (before.pending && !before.was_present) ||
         !after.present ||
         after.version > before.version + 1;  // The writes between: unknown
}

}  // namespace

Status KeyVersions::CountWrites(const Trace& trace) {
  TraceCursor cursor(&trace, 0, trace.record_count());
  while (const TraceRecord* record = cursor.Next()) {
    if (!IsWrite(record->operation)) continue;
    BeginWrite(record->key_number, record->operation == Operation::kDelete);
    EndWrite(record->key_number);
    recency_.Use(record->key_number, record->length);
  }
  return cursor.status();
}

// One client thread.
class Replay::Client {
 public:
  // Client "index" of the range.  "must_last" is whether the range may not come
  // to its end before the replay does.
  Client(Replay* replay, const Range& range, int index, bool must_last,
         ClientProgress* progress)
      : replay_(replay),
        range_(range),
        index_(index),
        must_last_(must_last),
        progress_(progress),
        clock_(replay->clock_) {}

  void Run();

 private:
  bool Owns(uint64_t key_number) const {
    return range_.threads == 1 || MixBits(key_number) % range_.threads ==
                                      static_cast<uint64_t>(index_);
  }
  // Whether nobody else may write the key.
  bool WritesAlone(uint64_t key_number) const {
    return !replay_->side_by_side_ && Owns(key_number);
  }
  // When the operation at a position of the range is intended; of a closed
  // loop, from the start.
  int64_t IntendedNs(double position) const {
    const double rate = range_.rate_ops_s;
    return replay_->start_ns_ + (rate > 0 ? ToNs(position / rate) : 0);
  }
  // Whether the operation at hand is not to be done any more.
  bool Over() const;
  void CheckThatItLasted();
  Status Perform(const TraceRecord& record);
  // Counts the compares of "read" by how far away the key was.
  template <typename Function>
  Status CountingFar(uint64_t key_number, Function read);
  Status Write(const TraceRecord& record);
  Status Read(const TraceRecord& record);
  Status Scan(const TraceRecord& record);
  // Waits until the operation is intended.
  void WaitForTurn();
  // Sets the time that the operation's latency counts from.  What the operation
  // costs by itself is counted between here and End(): on a simulated host time
  // passes where work is counted.
  void Begin(Operation operation);
  void End(Operation operation);

  Status CheckRead(uint64_t key_number, const KeyState& before,
                   bool found) const;
  // Whether value_ is a version of the key from "first" to "last".
  bool IsVersion(uint64_t key_number, uint32_t first, uint32_t last) const;
  // "key_is_present" is whether a scan from the record's key must find it.
  Status CheckScan(const TraceRecord& record, bool key_is_present) const;
  Status CheckScanned(uint64_t key_number, std::string_view value) const;
  Status WrongValue(uint64_t key_number, const std::string& what) const;
  // The record at hand, for messages.
  std::string Place() const;

  Replay* const replay_;
  const Range range_;
  const int index_;
  const bool must_last_;
  ClientProgress* const progress_;
  Clock* const clock_;

  // The operation at hand:
  uint64_t position_ = 0;                     // In the range
  std::optional<OperationGroup> last_group_;  // Of the operation before it
  int64_t from_ns_ = 0;
  char key_[kKeyBytes];
  std::string value_;
  ScannedRecords scanned_;
};

void Replay::Client::Run() {
  SetRoleOfThisThread(Role::kClient);
  TraceCursor cursor(range_.trace, range_.first, range_.count);
  const TraceRecord* record = nullptr;
  for (position_ = 0; (record = cursor.Next()) != nullptr; position_++) {
    if (const TraceRecord* ahead = cursor.Peek(kPrefetchDistance)) {
      replay_->versions_->Prefetch(ahead->key_number);
    }
    if (!Owns(record->key_number)) continue;
    if (Over()) break;
    EncodeKey(record->key_number, replay_->keys_, key_);
    const Status status = Perform(*record);
    if (!status.ok()) {
      replay_->Fail(status);
      break;
    }
  }
  progress_->AddTraceBytes(cursor.bytes_read());
  if (!cursor.status().ok()) {
    replay_->Fail(cursor.status());
  } else if (record == nullptr && must_last_) {
    CheckThatItLasted();
  }
}

bool Replay::Client::Over() const {
  if (replay_->stop_.load(std::memory_order_relaxed)) return true;
  if (replay_->end_ns_ == kNever) return false;
  // Half an interval: a scale rounds numbers of operations.
  const int64_t intended_ns = IntendedNs(static_cast<double>(position_) + 0.5);
  return std::max(clock_->NowNs(), intended_ns) >= replay_->end_ns_;
}

void Replay::Client::CheckThatItLasted() {
  if (Over()) return;
  WaitForTurn();  // Of the operation that would be the next
  if (Over()) return;
  replay_->Fail(
      Status::BadInput(range_.trace->path(),
                       "its " + std::to_string(range_.count) +
                           " operations were done before the phase was over",
                       "give the stream more operations"));
}

void Replay::Client::WaitForTurn() {
  if (range_.rate_ops_s == 0) return;
  WaitUntilNs(clock_, IntendedNs(static_cast<double>(position_)));
}

void Replay::Client::Begin(Operation operation) {
  from_ns_ = range_.rate_ops_s == 0
                 ? clock_->NowNs()
                 : IntendedNs(static_cast<double>(position_));
  const OperationGroup group = GroupOf(operation);
  if (group != last_group_) Count(Work::kTurn);
  last_group_ = group;
}

void Replay::Client::End(Operation operation) {
  const int64_t latency_ns = clock_->NowNs() - from_ns_;
  progress_->AddOperation(GroupOf(operation), latency_ns);
  if (range_.latencies_us != nullptr) {
    range_.latencies_us[position_] = static_cast<float>(latency_ns * 1e-3);
  }
}

Status Replay::Client::Perform(const TraceRecord& record) {
  switch (record.operation) {
    case Operation::kRead:
    case Operation::kReadRecent:
      return Read(record);
    case Operation::kScan:
      return Scan(record);
    case Operation::kInsert:
    case Operation::kUpdate:
    case Operation::kDelete:
      break;
  }
  return Write(record);
}

template <typename Function>
Status Replay::Client::CountingFar(uint64_t key_number, Function read) {
  const auto& compares =
      work_of_this_thread.counts.of[static_cast<int>(Work::kCompare)];
  const uint32_t doublings =
      replay_->versions_->recency()->SixteenthsOfDoublings(key_number);
  const uint64_t before = compares;
  const Status status = read();
  Count(Work::kFarCompare, (compares - before) * doublings / 16);
  return status;
}

Status Replay::Client::Write(const TraceRecord& record) {
  KeyVersions* const versions = replay_->versions_;
  const bool is_delete = (record.operation == Operation::kDelete);
  if (!is_delete) {
    value_.resize(record.length);
    replay_->values_->Generate(record.key_number,
                               versions->Version(record.key_number) + 1,
                               record.length, value_.data());
  }
  WaitForTurn();
  // Counted before it is issued: another client may see it first.
  versions->BeginWrite(record.key_number, is_delete);
  Begin(record.operation);
  Count(Work::kPut);
  Count(Work::kValueByte, is_delete ? 0 : record.length);
  const Status status = is_delete
                            ? replay_->store_->Delete({key_, kKeyBytes})
                            : replay_->store_->Put({key_, kKeyBytes}, value_);
  End(record.operation);
  if (status.ok()) versions->EndWrite(record.key_number);
  versions->recency()->Use(record.key_number, record.length);
  progress_->AddWritten(kKeyBytes + (is_delete ? 0 : record.length));
  return status;
}

Status Replay::Client::Read(const TraceRecord& record) {
  WaitForTurn();
  uint64_t key_number = record.key_number;
  if (record.operation == Operation::kReadRecent) {
    // Only now: writers beside this client go on until its turn comes.
    if (!replay_->versions_->FindRecent(record.key_number, &key_number)) {
      return Status::BadInput(Place(),
                              "reads what was written " +
                                  std::to_string(record.key_number) +
                                  " updates ago, before there were so many",
                              "load or update more keys first");
    }
    EncodeKey(key_number, replay_->keys_, key_);
  }
  const KeyState before = replay_->versions_->State(key_number);
  bool found = false;
  Begin(record.operation);
  const Status status = CountingFar(key_number, [&] {
    return replay_->store_->Get({key_, kKeyBytes}, &value_, &found);
  });
  Count(Work::kGet);
  Count(Work::kValueByte, found ? value_.size() : 0);
  End(record.operation);
  replay_->versions_->recency()->Use(key_number, found ? value_.size() : 0);
  if (!status.ok()) return status;
  if (found) {
    progress_->AddFound(kKeyBytes + value_.size());
  } else {
    progress_->AddNotFound();
  }
  return replay_->value_checks_ ? CheckRead(key_number, before, found) : status;
}

Status Replay::Client::CheckRead(uint64_t key_number, const KeyState& before,
                                 bool found) const {
  const KeyState after = replay_->versions_->State(key_number);
  // A write that was on its way may have come after the read.
  const uint32_t acknowledged = before.version - (before.pending ? 1 : 0);
  if (found ? IsVersion(key_number, acknowledged, after.version)
            : MayBeAbsent(before, after)) {
    return Status::OK();
  }
  return WrongValue(
      key_number,
      "a read found " +
          (found ? DescribeValue(value_.data(), value_.size()) : "nothing") +
          " instead of " +
          (after.present ? "version " + std::to_string(after.version)
                         : "nothing"));
}

bool Replay::Client::IsVersion(uint64_t key_number, uint32_t first,
                               uint32_t last) const {
  for (uint32_t version = first; version <= last; version++) {
    if (replay_->values_->Matches(key_number, version, value_.data(),
                                  value_.size())) {
      return true;
    }
  }
  return false;
}

Status Replay::Client::Scan(const TraceRecord& record) {
  const bool key_is_present = WritesAlone(record.key_number) &&
                              replay_->versions_->Present(record.key_number);
  WaitForTurn();
  Begin(record.operation);
  const Status status = CountingFar(record.key_number, [&] {
    return replay_->store_->Scan({key_, kKeyBytes}, record.length, &scanned_);
  });
  Count(Work::kScan);
  Count(Work::kScannedRecord, scanned_.size());
  Count(Work::kValueByte, scanned_.bytes());
  End(record.operation);
  replay_->versions_->recency()->Use(record.key_number, scanned_.bytes());
  if (!status.ok()) return status;
  progress_->AddScanned(scanned_.size(), scanned_.bytes());
  return replay_->value_checks_ ? CheckScan(record, key_is_present) : status;
}

Status Replay::Client::CheckScan(const TraceRecord& record,
                                 bool key_is_present) const {
  if (key_is_present && record.length > 0 && scanned_.size() == 0) {
    return WrongValue(record.key_number, "a scan from it found nothing");
  }
  const std::string_view sought(key_, kKeyBytes);
  for (size_t i = 0; i < scanned_.size(); i++) {
    const std::string_view key = scanned_.key(i);
    uint64_t key_number = 0;
    if (!DecodeKey(key.data(), key.size(), replay_->keys_, &key_number) ||
        key_number >= replay_->versions_->key_count()) {
      return WrongValue(key_number, "a scan found a key that nobody wrote");
    }
    if (i == 0 ? (key_is_present ? key != sought : key < sought)
               : key <= scanned_.key(i - 1)) {
      return WrongValue(key_number, "a scan found the key out of its order");
    }
    const Status status = CheckScanned(key_number, scanned_.value(i));
    if (!status.ok()) return status;
  }
  return Status::OK();
}

Status Replay::Client::CheckScanned(uint64_t key_number,
                                    std::string_view value) const {
  const KeyVersions& versions = *replay_->versions_;
  const bool own = WritesAlone(key_number);
  const uint32_t newest = versions.Version(key_number);
  uint32_t version = newest;
  if (!own) {
    // Another client may be writing the key: what the scan found must be one
    // of the versions so far.  A value without its header does not say which.
    if (value.size() < kValueHeaderBytes) return Status::OK();
    version = std::min(newest, ClaimedVersion(value.data(), value.size()));
  }
  if ((!own || versions.Present(key_number)) &&
      replay_->values_->Matches(key_number, version, value.data(),
                                value.size())) {
    return Status::OK();
  }
  return WrongValue(
      key_number, "a scan found " + DescribeValue(value.data(), value.size()) +
                      ", the last write was version " + std::to_string(newest) +
                      (versions.Present(key_number) ? "" : ", a delete"));
}

Status Replay::Client::WrongValue(uint64_t key_number,
                                  const std::string& what) const {
  return Status(ExitCode::kWrongValue,
                Place() + ", key " + std::to_string(key_number), what,
                "the engine is wrong, discard what it measured");
}

std::string Replay::Client::Place() const {
  return range_.trace->path() + ": record " +
         std::to_string(range_.first + position_);
}

Replay::Replay(Store* store, const ValueGenerator* values, KeySpace keys,
               bool value_checks, KeyVersions* versions, Progress* progress,
               Clock* clock)
    : store_(store),
      values_(values),
      keys_(keys),
      value_checks_(value_checks),
      versions_(versions),
      progress_(progress),
      clock_(clock) {}

void Replay::Fail(const Status& status) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (status_.ok()) status_ = status;
  stop_.store(true, std::memory_order_relaxed);
}

Status Replay::Run(const std::vector<Range>& ranges, double duration_s) {
  start_ns_ = clock_->NowNs();
  end_ns_ = duration_s > 0 ? start_ns_ + ToNs(duration_s) : kNever;
  side_by_side_ = ranges.size() > 1;
  stop_.store(false);
  std::vector<std::thread> of_first, of_others;
  int client = 0;
  for (const Range& range : ranges) {
    const bool is_first = (&range == &ranges.front());
    const bool must_last = !is_first || duration_s > 0;
    for (int i = 0; i < range.threads; i++) {
      ClientProgress* const progress = progress_->client(client++);
      const Status status = StartThread(
          "client " + std::to_string(client),
          [=, &range] { Client(this, range, i, must_last, progress).Run(); },
          &(is_first ? of_first : of_others).emplace_back());
      if (!status.ok()) Fail(status);
    }
  }
  const auto join = [](std::vector<std::thread>& threads) {
    for (std::thread& thread : threads) {
      if (thread.joinable()) thread.join();
    }
  };
  join(of_first);
  stop_.store(true);
  join(of_others);
  std::lock_guard<std::mutex> lock(mutex_);
  return status_;
}

}  // namespace recompact
