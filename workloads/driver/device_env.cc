#include "driver/device_env.h"

#include <algorithm>
#include <cmath>
#include <thread>
#include <utility>
#include <vector>

#include "driver/device_file.h"
#include "driver/table_file.h"

namespace recompact {

namespace {

// True in threads whose reads are stream requests.
thread_local bool is_background_thread = false;

std::atomic<uint64_t> next_file_id{1};

// Files lie far apart, so that no two are contiguous on the device.
constexpr int kFileAddressBits = 40;
}  // namespace

struct DeviceEnv::BackgroundCall {
  std::atomic<int>* scheduled_calls;  // nullptr for a thread of its own
  void (*function)(void*);
  void* arg;

  static void Run(void* call) {
    const BackgroundCall taken = *static_cast<BackgroundCall*>(call);
    delete static_cast<BackgroundCall*>(call);
    is_background_thread = true;
    taken.function(taken.arg);
    if (taken.scheduled_calls != nullptr) taken.scheduled_calls->fetch_sub(1);
  }
};

DeviceEnv::BackgroundScope::BackgroundScope()
    : outer_(std::exchange(is_background_thread, true)) {}

DeviceEnv::BackgroundScope::~BackgroundScope() {
  is_background_thread = outer_;
}

bool DeviceEnv::InBackground() { return is_background_thread; }

DeviceEnv::DeviceEnv(leveldb::Env* target, const DeviceParameters& parameters,
                     double scale_factor, std::string directory, Clock* clock,
                     bool direct_io)
    : EnvWrapper(target),
      parameters_(AtScale(parameters, scale_factor)),
      scale_factor_(scale_factor),
      directory_(std::move(directory) + "/"),
      direct_io_(direct_io),
      clock_(clock),
      journal_(std::llround(parameters_.sync_latency_us * 1e3 / scale_factor)) {
  if (parameters_.modelled()) model_ = NewDeviceModel(parameters_);
  if (parameters_.page_cache_bytes > 0) {
    page_cache_ = std::make_unique<PageCache>(parameters_.page_cache_bytes);
  }
  if (parameters_.shingled()) {
    placement_ = std::make_unique<FilePlacement>();
    std::vector<std::string> names;
    target->GetChildren(directory_, &names);  // None if it is not there yet
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) {
      if (name[0] != '.') FileFor(directory_ + name, false);
    }
  }
}

DeviceEnv::~DeviceEnv() {
  // The engine may be gone a moment before its last call has returned.
  while (!BackgroundIdle()) std::this_thread::yield();
}

void DeviceEnv::Schedule(void (*function)(void*), void* arg) {
  scheduled_calls_.fetch_add(1);
  target()->Schedule(&BackgroundCall::Run,
                     new BackgroundCall{&scheduled_calls_, function, arg});
}

void DeviceEnv::StartThread(void (*function)(void*), void* arg) {
  target()->StartThread(&BackgroundCall::Run,
                        new BackgroundCall{nullptr, function, arg});
}

void DeviceEnv::SleepForMicroseconds(int micros) {
  if (model_ == nullptr) {
    target()->SleepForMicroseconds(micros);
  } else {
    clock_.WaitUntilNs(clock_.NowNs() + int64_t{micros} * 1000);
  }
}

bool DeviceEnv::Covers(const std::string& name) const {
  return name.compare(0, directory_.size(), directory_) == 0;
}

std::shared_ptr<const DeviceEnv::File> DeviceEnv::FileFor(
    const std::string& name, bool fresh) {
  uint64_t size = 0;
  if (placement_ != nullptr && !fresh) target()->GetFileSize(name, &size);
  std::lock_guard<std::mutex> lock(mutex_);
  std::shared_ptr<const File>& file = files_[name];
  if (file == nullptr || fresh) {
    if (file != nullptr) RemovePlaceLocked(*file);
    file = std::make_shared<File>(NewFile(name));
    if (fresh) file->written_ns = clock_.NowNs();
    PlaceLocked(*file, size);
  }
  return file;
}

DeviceEnv::File DeviceEnv::NewFile(const std::string& name) const {
  File file = {};
  file.id = next_file_id.fetch_add(1);
  file.address = file.id << kFileAddressBits;
  if (parameters_.kind == DeviceKind::kRaid0) {
    // Files begin on different members, in turn.
    const uint64_t n = parameters_.members;
    const uint64_t chunk = file.address / parameters_.chunk_bytes;
    const uint64_t ahead = (file.id + n - chunk % n) % n;
    file.address = (chunk + ahead) * parameters_.chunk_bytes;
  }
  file.direct = direct_io_ && IsTableFile(name);
  if (file.direct) {
    file.unit = kDirectUnitBytes;
    file.limit = 0;
  } else if (parameters_.modelled()) {
    file.unit = parameters_.writeback_bytes;
    file.limit = parameters_.dirty_limit_bytes;
  } else {
    file.unit = kUntilFlushed;
    file.limit = 0;
  }
  const bool own_bands = parameters_.kind == DeviceKind::kZonedSmr ||
                         (parameters_.own_bands && IsTableFile(name));
  file.grain = own_bands ? parameters_.band_bytes : FilePlacement::kBlockBytes;
  return file;
}

void DeviceEnv::Forget(const std::string& name, uint64_t size) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto file = files_.find(name);
  if (file == files_.end()) return;
  if (page_cache_ != nullptr) {
    page_cache_->Drop(file->second->id, (size + PageCache::kPageBytes - 1) /
                                            PageCache::kPageBytes);
  }
  RemovePlaceLocked(*file->second);
  files_.erase(file);
}

void DeviceEnv::PlaceLocked(const File& file, uint64_t size) {
  if (placement_ == nullptr) return;
  for (const auto& extent : placement_->Append(file.id, size, file.grain)) {
    model_->Hold(extent.address, extent.length);
  }
}

void DeviceEnv::RemovePlaceLocked(const File& file) {
  if (placement_ == nullptr) return;
  for (const auto& extent : placement_->Remove(file.id)) {
    model_->Discard(extent.address, extent.length);
  }
}

leveldb::Status DeviceEnv::NewSequentialFile(const std::string& name,
                                             leveldb::SequentialFile** result) {
  leveldb::Status s = target()->NewSequentialFile(name, result);
  if (s.ok() && Covers(name)) {
    uint64_t table_bytes = 0;
    if (IsTableFile(name)) target()->GetFileSize(name, &table_bytes);
    *result = new DeviceSequentialFile(this, FileFor(name, false), *result,
                                       table_bytes);
  }
  return s;
}

leveldb::Status DeviceEnv::NewRandomAccessFile(
    const std::string& name, leveldb::RandomAccessFile** result) {
  if (!Covers(name)) return target()->NewRandomAccessFile(name, result);
  return DeviceRandomAccessFile::Open(this, FileFor(name, false), name, result);
}

leveldb::Status DeviceEnv::NewWritableFile(const std::string& name,
                                           leveldb::WritableFile** result) {
  return NewDeviceWritableFile(name, false, result);
}

leveldb::Status DeviceEnv::NewAppendableFile(const std::string& name,
                                             leveldb::WritableFile** result) {
  return NewDeviceWritableFile(name, true, result);
}

leveldb::Status DeviceEnv::NewDeviceWritableFile(
    const std::string& name, bool append, leveldb::WritableFile** result) {
  uint64_t size = 0;
  if (append) target()->GetFileSize(name, &size);  // 0 for a new file
  leveldb::Status s = append ? target()->NewAppendableFile(name, result)
                             : target()->NewWritableFile(name, result);
  if (!Covers(name)) return s;
  if (s.ok()) {
    s = DeviceWritableFile::Wrap(this, FileFor(name, !append), name, size,
                                 result);
  }
  return NoteWrite(s);
}

leveldb::Status DeviceEnv::RemoveFile(const std::string& name) {
  uint64_t size = 0;
  if (page_cache_ != nullptr) target()->GetFileSize(name, &size);
  leveldb::Status s = target()->RemoveFile(name);
  if (s.ok()) Forget(name, size);
  return s;
}

leveldb::Status DeviceEnv::RenameFile(const std::string& from,
                                      const std::string& to) {
  leveldb::Status s = target()->RenameFile(from, to);
  if (s.ok()) {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto file = files_.find(from);
    if (file != files_.end()) {
      std::shared_ptr<const File>& renamed = files_[to];
      if (renamed != nullptr) RemovePlaceLocked(*renamed);
      renamed = file->second;
      files_.erase(file);
    }
  }
  return s;
}

int64_t DeviceEnv::SubmitLocked(int64_t now_ns, const File& file,
                                const Request& request) {
  const int64_t completion_ns = placement_ == nullptr
                                    ? model_->Submit(now_ns, request)
                                    : SubmitPartsLocked(now_ns, file, request);
  if (completion_ns > busy_until_ns_) {
    busy_ns_ += completion_ns - std::max(now_ns, busy_until_ns_);
    busy_until_ns_ = completion_ns;
  }
  if (request.direction == Request::kRead) {
    reads_.fetch_add(1, std::memory_order_relaxed);
    read_bytes_.fetch_add(request.length, std::memory_order_relaxed);
  } else {
    writes_.fetch_add(1, std::memory_order_relaxed);
    write_bytes_.fetch_add(request.length, std::memory_order_relaxed);
  }
  return completion_ns;
}

int64_t DeviceEnv::SubmitPartsLocked(int64_t now_ns, const File& file,
                                     Request request) {
  int64_t completion_ns = now_ns;
  for (const auto& extent :
       request.direction == Request::kRead
           ? placement_->Find(file.id, request.address - file.address,
                              request.length)
           : placement_->Append(file.id, request.length, file.grain)) {
    request.address = extent.address;
    request.length = extent.length;
    completion_ns = std::max(completion_ns, model_->Submit(now_ns, request));
  }
  return completion_ns;
}

void DeviceEnv::ChargeRead(const File& file, uint64_t offset, uint64_t length,
                           ReadKind kind) {
  if (model_ == nullptr || !reads_take_time_.load(std::memory_order_relaxed)) {
    reads_.fetch_add(1, std::memory_order_relaxed);
    read_bytes_.fetch_add(length, std::memory_order_relaxed);
    return;
  }
  Request request;
  request.direction = Request::kRead;
  const bool is_stream = InBackground() || kind != ReadKind::kRandom;
  request.request_class =
      is_stream && !file.direct ? Request::kStream : Request::kUser;
  request.address = file.address + offset;
  request.length = length;
  request.stream_unit_bytes =
      kind == ReadKind::kWholeTable
          ? static_cast<uint64_t>(static_cast<double>(length) * scale_factor_)
          : parameters_.read_ahead_bytes;
  const int64_t now_ns = clock_.NowNs();
  int64_t completion_ns;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    completion_ns = page_cache_ == nullptr || file.direct
                        ? SubmitLocked(now_ns, file, request)
                        : ReadMissingPagesLocked(now_ns, file, request);
  }
  if (completion_ns > now_ns) clock_.WaitUntilNs(completion_ns);
}

int64_t DeviceEnv::ReadMissingPagesLocked(int64_t now_ns, const File& file,
                                          Request request) {
  constexpr uint64_t kPage = PageCache::kPageBytes;
  const uint64_t offset = request.address - file.address;
  const uint64_t first = offset / kPage;
  const uint64_t end = (offset + request.length + kPage - 1) / kPage;
  int64_t completion_ns = now_ns;
  request.length = 0;
  // One request for each run of pages that are missing.
  for (uint64_t page = first; page <= end; page++) {
    const bool missing = page < end && !page_cache_->Touch(file.id, page);
    if (page < end) (missing ? page_cache_misses_ : page_cache_hits_)++;
    if (missing && request.length == 0) {
      request.address = file.address + page * kPage;
    }
    if (missing) {
      request.length += kPage;
    } else if (request.length > 0) {
      completion_ns =
          std::max(completion_ns, SubmitLocked(now_ns, file, request));
      request.length = 0;
    }
  }
  return completion_ns;
}

void DeviceEnv::ChargeWrite(const File& file, uint64_t offset,
                            uint64_t length) {
  if (model_ == nullptr) {
    writes_.fetch_add(1, std::memory_order_relaxed);
    write_bytes_.fetch_add(length, std::memory_order_relaxed);
    return;
  }
  Request request;
  request.direction = Request::kWrite;
  request.request_class = file.direct ? Request::kUser : Request::kStream;
  request.address = file.address + offset;
  request.length = length;
  request.stream_unit_bytes = parameters_.writeback_bytes;
  const int64_t now_ns = clock_.NowNs();
  int64_t wait_ns;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const int64_t completion_ns = SubmitLocked(now_ns, file, request);
    file.written_ns = std::max(file.written_ns, completion_ns);
    if (page_cache_ != nullptr && !file.direct) {
      for (uint64_t page = offset / PageCache::kPageBytes;
           page * PageCache::kPageBytes < offset + length; page++) {
        page_cache_->Touch(file.id, page);
      }
    }
    wait_ns = DirtyWaitLocked(now_ns, completion_ns, length, file.limit);
  }
  if (wait_ns > now_ns) clock_.WaitUntilNs(wait_ns);
}

int64_t DeviceEnv::DirtyWaitLocked(int64_t now_ns, int64_t completion_ns,
                                   uint64_t length, uint64_t limit) {
  if (limit == 0) return completion_ns;
  outstanding_.emplace(completion_ns, length);
  outstanding_bytes_ += length;
  int64_t wait_ns = now_ns;
  while (!outstanding_.empty()) {
    const auto earliest = outstanding_.begin();
    if (earliest->first > now_ns) {
      if (outstanding_bytes_ <= limit) break;
      wait_ns = earliest->first;
    }
    outstanding_bytes_ -= earliest->second;
    outstanding_.erase(earliest);
  }
  return wait_ns;
}

void DeviceEnv::ChargeSync(const File& file) {
  syncs_.fetch_add(1, std::memory_order_relaxed);
  if (model_ == nullptr) return;
  int64_t written_ns;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    written_ns = file.written_ns;
  }
  // As ext4_sync_file(): first the data, then the transaction that has them.
  if (written_ns > clock_.NowNs()) clock_.WaitUntilNs(written_ns);
  const int64_t now_ns = clock_.NowNs();
  int64_t committed_ns;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    committed_ns = journal_.Sync(now_ns, written_ns);
  }
  if (committed_ns > now_ns) clock_.WaitUntilNs(committed_ns);
}

leveldb::Status DeviceEnv::NoteWrite(const leveldb::Status& status) {
  if (!status.ok()) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (first_write_error_.empty()) first_write_error_ = status.ToString();
  }
  return status;
}

std::string DeviceEnv::FirstWriteError() {
  std::lock_guard<std::mutex> lock(mutex_);
  return first_write_error_.empty() && model_ != nullptr ? model_->WriteError()
                                                         : first_write_error_;
}

uint64_t DeviceEnv::QueueUs() {
  if (model_ == nullptr) return 0;
  const int64_t now_ns = clock_.NowNs();
  std::lock_guard<std::mutex> lock(mutex_);
  model_->Advance(now_ns);
  return model_->QueueNs(now_ns) / 1000;
}

DeviceCounters DeviceEnv::Counters() {
  const int64_t now_ns = clock_.NowNs();
  DeviceCounters counters;
  counters.read_bytes = read_bytes_;
  counters.write_bytes = write_bytes_;
  counters.reads = reads_;
  counters.writes = writes_;
  counters.syncs = syncs_;
  counters.page_cache_hits = page_cache_hits_;
  counters.page_cache_misses = page_cache_misses_;
  counters.unsubmitted_bytes = unsubmitted_bytes_;
  counters.max_lag_us = clock_.TakeMaxLagNs() / 1000;
  counters.lost_us = clock_.lost_ns() / 1000;
  std::lock_guard<std::mutex> lock(mutex_);
  counters.busy_us = busy_ns_ / 1000;
  if (model_ != nullptr) {
    model_->Advance(now_ns);
    counters.cleaning = model_->Cleaning();
  }
  return counters;
}

}  // namespace recompact
