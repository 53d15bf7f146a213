#include "driver/replay.h"

#include <algorithm>
#include <string>
#include <thread>

#include "driver/virtual_clock.h"

namespace recompact {

namespace {

// A sleeping thread wakes late by some tens of microseconds, which an open loop
// would count as latency; the last stretch is spent awake.
constexpr int64_t kAwakeNs = 100 * 1000;

// The versions do not fit a CPU's caches: fetch them this many operations
// ahead.
constexpr size_t kPrefetchDistance = 8;

void WaitUntilNs(Clock* clock, int64_t intended_ns) {
  if (clock->NowNs() < intended_ns - kAwakeNs) {
    clock->SleepUntilNs(intended_ns - kAwakeNs);
  }
  while (clock->NowNs() < intended_ns) {
  }
}

}  // namespace

Status KeyVersions::CountWrites(const Trace& trace) {
  TraceCursor cursor(&trace, 0, trace.record_count());
  while (const TraceRecord* record = cursor.Next()) {
    if (!IsWrite(record->operation)) continue;
    CountWrite(record->key_number, record->operation == Operation::kDelete);
  }
  return cursor.status();
}

// One client thread.
class Replay::Client : private Store::Visitor {
 public:
  Client(Replay* replay, const Range& range, int index, int64_t start_ns)
      : replay_(replay),
        range_(range),
        index_(index),
        start_ns_(start_ns),
        progress_(replay->progress_->client(index)),
        clock_(Clock::Monotonic()) {}

  void Run();

 private:
  bool Owns(uint64_t key_number) const {
    return range_.threads == 1 || MixBits(key_number) % range_.threads ==
                                      static_cast<uint64_t>(index_);
  }
  Status Perform(const TraceRecord& record);
  Status Write(const TraceRecord& record);
  Status Read(const TraceRecord& record);
  Status Scan(const TraceRecord& record);
  // Waits for the operation's turn; sets the time its latency counts from.
  void Begin();
  void End(Operation operation);

  Status CheckRead(uint64_t key_number, bool found) const;
  bool Visit(std::string_view key, std::string_view value) override;
  Status CheckScanned(std::string_view key, std::string_view value) const;
  Status WrongValue(uint64_t key_number, const std::string& what) const;

  Replay* const replay_;
  const Range range_;
  const int index_;
  const int64_t start_ns_;
  ClientProgress* const progress_;
  Clock* const clock_;

  // The operation at hand:
  uint64_t position_ = 0;  // In the range
  int64_t from_ns_ = 0;
  char key_[kKeyBytes];
  std::string value_;
  // The scan at hand:
  bool key_is_present_ = false;
  std::string last_key_;
  uint64_t scanned_records_ = 0;
  uint64_t scanned_bytes_ = 0;
  Status scan_status_;
};

void Replay::Client::Run() {
  TraceCursor cursor(range_.trace, range_.first, range_.count);
  for (position_ = 0; const TraceRecord* record = cursor.Next(); position_++) {
    if (const TraceRecord* ahead = cursor.Peek(kPrefetchDistance)) {
      replay_->versions_->Prefetch(ahead->key_number);
    }
    if (!Owns(record->key_number)) continue;
    if (replay_->stop_.load(std::memory_order_relaxed)) break;
    EncodeKey(record->key_number, replay_->order_, key_);
    const Status status = Perform(*record);
    if (!status.ok()) {
      replay_->Stop(status);
      break;
    }
  }
  progress_->AddTraceBytes(cursor.bytes_read());
  if (!cursor.status().ok()) replay_->Stop(cursor.status());
}

void Replay::Client::Begin() {
  if (range_.rate_ops_s == 0) {
    from_ns_ = clock_->NowNs();
    return;
  }
  const double seconds = static_cast<double>(position_) / range_.rate_ops_s;
  from_ns_ = start_ns_ + static_cast<int64_t>(seconds * 1e9);
  WaitUntilNs(clock_, from_ns_);
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

Status Replay::Client::Write(const TraceRecord& record) {
  const bool is_delete = (record.operation == Operation::kDelete);
  // Counted before it is issued: a scan by another client may see it first.
  const uint32_t version =
      replay_->versions_->CountWrite(record.key_number, is_delete);
  if (!is_delete) {
    value_.resize(record.length);
    replay_->values_->Generate(record.key_number, version, record.length,
                               value_.data());
  }
  Begin();
  const Status status = is_delete
                            ? replay_->store_->Delete({key_, kKeyBytes})
                            : replay_->store_->Put({key_, kKeyBytes}, value_);
  End(record.operation);
  progress_->AddWritten(kKeyBytes + (is_delete ? 0 : record.length));
  return status;
}

Status Replay::Client::Read(const TraceRecord& record) {
  bool found = false;
  Begin();
  const Status status =
      replay_->store_->Get({key_, kKeyBytes}, &value_, &found);
  End(record.operation);
  if (!status.ok()) return status;
  if (found) {
    progress_->AddFound(kKeyBytes + value_.size());
  } else {
    progress_->AddNotFound();
  }
  return replay_->value_checks_ ? CheckRead(record.key_number, found) : status;
}

Status Replay::Client::CheckRead(uint64_t key_number, bool found) const {
  const KeyVersions& versions = *replay_->versions_;
  const uint32_t version = versions.Version(key_number);
  const bool present = versions.Present(key_number);
  if (found == present &&
      (!found || replay_->values_->Matches(key_number, version, value_.data(),
                                           value_.size()))) {
    return Status::OK();
  }
  return WrongValue(
      key_number,
      "a read found " +
          (found ? DescribeValue(value_.data(), value_.size()) : "nothing") +
          " instead of " +
          (present ? "version " + std::to_string(version) : "nothing"));
}

Status Replay::Client::Scan(const TraceRecord& record) {
  key_is_present_ =
      Owns(record.key_number) && replay_->versions_->Present(record.key_number);
  last_key_.clear();
  scanned_records_ = scanned_bytes_ = 0;
  scan_status_ = Status::OK();
  Begin();
  const Status status =
      replay_->store_->Scan({key_, kKeyBytes}, record.length, this);
  End(record.operation);
  progress_->AddScanned(scanned_records_, scanned_bytes_);
  if (!status.ok() || !replay_->value_checks_) return status;
  if (key_is_present_ && record.length > 0 && scanned_records_ == 0) {
    return WrongValue(record.key_number, "a scan from it found nothing");
  }
  return scan_status_;
}

bool Replay::Client::Visit(std::string_view key, std::string_view value) {
  if (replay_->value_checks_) scan_status_ = CheckScanned(key, value);
  last_key_.assign(key);
  scanned_records_++;
  scanned_bytes_ += key.size() + value.size();
  return scan_status_.ok();
}

Status Replay::Client::CheckScanned(std::string_view key,
                                    std::string_view value) const {
  const KeyVersions& versions = *replay_->versions_;
  const std::string_view sought(key_, kKeyBytes);
  uint64_t key_number = 0;
  if (!DecodeKey(key.data(), key.size(), replay_->order_, &key_number) ||
      key_number >= versions.key_count()) {
    return WrongValue(key_number, "a scan found a key that nobody wrote");
  }
  const bool first = (scanned_records_ == 0);
  if (first ? (key_is_present_ ? key != sought : key < sought)
            : key <= last_key_) {
    return WrongValue(key_number, "a scan found the key out of its order");
  }
  const bool own = Owns(key_number);
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
                range_.trace->path() + ": record " +
                    std::to_string(range_.first + position_) + ", key " +
                    std::to_string(key_number),
                what, "the engine is wrong, discard what it measured");
}

Replay::Replay(Store* store, const ValueGenerator* values, KeyOrder order,
               bool value_checks, KeyVersions* versions, Progress* progress)
    : store_(store),
      values_(values),
      order_(order),
      value_checks_(value_checks),
      versions_(versions),
      progress_(progress) {}

void Replay::Stop(const Status& status) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (status_.ok()) status_ = status;
  stop_.store(true, std::memory_order_relaxed);
}

Status Replay::Run(const Range& range) {
  const int64_t start_ns = Clock::Monotonic()->NowNs();
  std::vector<std::thread> threads;
  for (int i = 0; i < range.threads; i++) {
    threads.emplace_back([this, &range, i, start_ns] {
      Client(this, range, i, start_ns).Run();
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::lock_guard<std::mutex> lock(mutex_);
  return status_;
}

}  // namespace recompact
