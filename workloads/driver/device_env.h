#ifndef RECOMPACT_WORKLOADS_DRIVER_DEVICE_ENV_H_
#define RECOMPACT_WORKLOADS_DRIVER_DEVICE_ENV_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "driver/device_model.h"
#include "driver/file_placement.h"
#include "driver/journal.h"
#include "driver/page_cache.h"
#include "driver/virtual_clock.h"
#include "leveldb/env.h"

namespace recompact {

// What the device did since the beginning, but for max_lag_us.
struct DeviceCounters {
  uint64_t read_bytes = 0;
  uint64_t write_bytes = 0;
  uint64_t reads = 0;
  uint64_t writes = 0;
  uint64_t syncs = 0;
  uint64_t busy_us = 0;          // Time with at least one request on the device
  uint64_t page_cache_hits = 0;  // Pages
  uint64_t page_cache_misses = 0;
  uint64_t unsubmitted_bytes = 0;  // Appended, waiting to fill a unit
  uint64_t max_lag_us = 0;         // Since the last call of Counters()
  uint64_t lost_us = 0;            // See VirtualClock
  std::optional<CleaningCounters> cleaning;  // Of a shingled disk
};

// Charges the I/O on files under one directory to a modelled device: counts
// it, and holds the calling thread up until the model's completion.  The files
// themselves lie in that directory, which should be in memory unless the device
// is kPath.  Files elsewhere pass through.
//
// Reads use pread(), never mmap(), so that each is seen.  A read by a thread
// that Schedule() or StartThread() runs is a stream request, and so is one that
// begins where the file's last read ended (the host reads ahead); any other is
// a user request.
//
// Appends gather in the host's memory: every writeback_bytes they go to the
// device, and the writer goes on unless more than dirty_limit_bytes are then
// on their way.  Close() sends what is left.  Sync() does so too, waits for the
// file's last request, and then for a commit of the journal that covers it,
// which takes sync_latency_us / scale_factor: a scale model has as many files
// as the original for a fraction of the operations.
//
// With direct I/O tables go past the host: an append of kDirectAppendBytes or
// more is a request, with what gathered before it, smaller ones gather to
// kDirectUnitBytes.  The writer waits for each request, every request pays the
// whole positioning, and the page cache has none of them.  On a real device
// (kPath) each is written out and waited for, and what is read leaves the
// system's page cache: it waits as O_DIRECT does, without O_DIRECT's alignment.
//
// On a shingled disk files have places (FilePlacement): those that lie in the
// directory as the env is made come first, by name, and were written before.
// All others begin far from each other.
//
// Threads that StartThread() runs are the engine's to join: neither
// BackgroundIdle() nor the destructor waits for them, so their last call into
// the env must be over when the database is closed.  What a scheduled call
// waits for is part of it.
class DeviceEnv : public leveldb::EnvWrapper {
 public:
  // While one lives, the calling thread's reads are streams, as in threads that
  // Schedule() and StartThread() run: for engines with threads of their own.
  class BackgroundScope {
   public:
    BackgroundScope();
    ~BackgroundScope();
    BackgroundScope(const BackgroundScope&) = delete;
    BackgroundScope& operator=(const BackgroundScope&) = delete;

   private:
    const bool outer_;
  };

  // An engine that gives so much at once has gathered it itself; what flushes
  // write, block by block, gathers to the unit in which PCP compacts.
  static constexpr uint64_t kDirectAppendBytes = 16 << 10;
  static constexpr uint64_t kDirectUnitBytes = 512 << 10;

  // REQUIRES: "target" and "clock" outlive this.
  DeviceEnv(leveldb::Env* target, const DeviceParameters& parameters,
            double scale_factor, std::string directory, Clock* clock,
            bool direct_io = false);
  // Waits for the calls that Schedule() took.
  ~DeviceEnv() override;

  leveldb::Status NewSequentialFile(const std::string& name,
                                    leveldb::SequentialFile** result) override;
  leveldb::Status NewRandomAccessFile(
      const std::string& name, leveldb::RandomAccessFile** result) override;
  leveldb::Status NewWritableFile(const std::string& name,
                                  leveldb::WritableFile** result) override;
  leveldb::Status NewAppendableFile(const std::string& name,
                                    leveldb::WritableFile** result) override;
  leveldb::Status RemoveFile(const std::string& name) override;
  leveldb::Status RenameFile(const std::string& from,
                             const std::string& to) override;
  void Schedule(void (*function)(void*), void* arg) override;
  void StartThread(void (*function)(void*), void* arg) override;
  void SleepForMicroseconds(int micros) override;

  // Reads take time unless told otherwise.
  void SetReadsTakeTime(bool reads_take_time) {
    reads_take_time_.store(reads_take_time);
  }

  // From now on no request holds a thread up, and the device is as busy as it
  // would be: for what a run does after its measurement.
  void StopWaiting() { clock_.StopSleeping(); }

  DeviceCounters Counters();
  uint64_t read_bytes() const { return read_bytes_.load(); }
  uint64_t write_bytes() const { return write_bytes_.load(); }
  // How long a request issued now would wait for the device, microseconds.
  uint64_t QueueUs();
  // True iff no call that Schedule() took is waiting or running.
  bool BackgroundIdle() const { return scheduled_calls_.load() == 0; }
  // The message of the first write that failed; empty if none did.
  std::string FirstWriteError();

 private:
  friend class DeviceRandomAccessFile;
  friend class DeviceSequentialFile;
  friend class DeviceWritableFile;

  // A unit that appends never fill: what is flushed goes to the device.
  static constexpr uint64_t kUntilFlushed = UINT64_MAX;

  // A file's place on the device, and how it gets there.
  struct File {
    uint64_t id;       // Above 0, and no other file's in this process
    uint64_t address;  // On a device without places
    bool direct;       // Goes past the host
    uint64_t unit;     // Appends go to the device by so many bytes
    uint64_t limit;    // So many may be on their way; 0: none after an append
    uint64_t grain;    // On a shingled disk, see FilePlacement
    // When its last write is over, at first when it was created; 0 for a file
    // that was there before.  Guarded by mutex_.
    mutable int64_t written_ns = 0;
  };
  struct BackgroundCall;

  // Whether Schedule() or StartThread() runs the calling thread.
  static bool InBackground();
  bool Covers(const std::string& name) const;
  // Whether the file's pages are to be kept out of the system's page cache.
  bool BypassesSystem(const File& file) const {
    return file.direct && parameters_.kind == DeviceKind::kPath;
  }
  std::shared_ptr<const File> FileFor(const std::string& name, bool fresh);
  File NewFile(const std::string& name) const;
  void Forget(const std::string& name, uint64_t size);
  leveldb::Status NewDeviceWritableFile(const std::string& name, bool append,
                                        leveldb::WritableFile** result);

  enum class ReadKind {
    kRandom,
    kSequential,  // Begins where the last read of the file ended
    kWholeTable,  // One request, which pays one positioning over the scale
  };

  // Holds the calling thread up until the read is complete.
  void ChargeRead(const File& file, uint64_t offset, uint64_t length,
                  ReadKind kind);
  // Returns the completion; holds the thread up if too much is on its way.
  void ChargeWrite(const File& file, uint64_t offset, uint64_t length);
  void ChargeSync(const File& file);
  // REQUIRES: mutex_ held, the device is modelled; also of those below
  int64_t SubmitLocked(int64_t now_ns, const File& file,
                       const Request& request);
  int64_t SubmitPartsLocked(int64_t now_ns, const File& file, Request request);
  int64_t ReadMissingPagesLocked(int64_t now_ns, const File& file,
                                 Request request);
  // The file is there already, with so many bytes.
  void PlaceLocked(const File& file, uint64_t size);
  void RemovePlaceLocked(const File& file);
  int64_t DirtyWaitLocked(int64_t now_ns, int64_t completion_ns,
                          uint64_t length, uint64_t limit);
  leveldb::Status NoteWrite(const leveldb::Status& status);

  const DeviceParameters parameters_;
  const double scale_factor_;
  const std::string directory_;  // With a slash at the end
  const bool direct_io_;
  VirtualClock clock_;

  std::atomic<uint64_t> read_bytes_{0}, write_bytes_{0}, reads_{0}, writes_{0},
      syncs_{0}, page_cache_hits_{0}, page_cache_misses_{0},
      unsubmitted_bytes_{0};
  std::atomic<int> scheduled_calls_{0};
  std::atomic<bool> reads_take_time_{true};

  std::mutex mutex_;  // Guards all below
  std::unique_ptr<DeviceModel> model_;
  std::unique_ptr<PageCache> page_cache_;
  std::unique_ptr<FilePlacement> placement_;  // Of a shingled disk
  std::map<std::string, std::shared_ptr<const File>> files_;
  // Writes on their way: bytes by completion.
  std::multimap<int64_t, uint64_t> outstanding_;
  uint64_t outstanding_bytes_ = 0;
  int64_t busy_until_ns_ = 0;
  int64_t busy_ns_ = 0;
  Journal journal_;
  std::string first_write_error_;
};

}  // namespace recompact

#endif  // RECOMPACT_WORKLOADS_DRIVER_DEVICE_ENV_H_
