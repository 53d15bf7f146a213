#ifndef RECOMPACT_WORKLOADS_SIMULATOR_WORK_H_
#define RECOMPACT_WORKLOADS_SIMULATOR_WORK_H_

#include <array>
#include <atomic>
#include <cstdint>

namespace recompact {

// What takes a processor's time, counted where it is done: by the driver
// (operations, values), by interpose.cc (calls of libraries) and inside of
// engines (leveldb_work.cc, rocksdb_db.cc).
enum class Work {
  kPut,
  kGet,
  kScan,
  kScannedRecord,
  kValueByte,   // Made or checked by the driver
  kTurn,        // A client reads, writes or scans, and did another before
  kCompare,     // memcmp()
  kFarCompare,  // Of a read, for each doubling of its distance (recency.h)
  kAllocation,
  kCompressedByte,    // Of input
  kUncompressedByte,  // Of output
  kChecksummedByte,   // By LevelDB
  kBuiltEntry,        // Of a table, by LevelDB
  kFilterCheck,       // For a key
  kRead,
  kReadByte,
  kWrite,
  kWrittenByte,
  kFileOperation,  // Opened, closed, removed, renamed, synced
  kListedFile,
  kLock,
  kSignal,  // To whom waits for a condition
  kWait,    // For a condition, or for a time
  kClockRead,
  kYield,
  kThreadStart,
};
constexpr int kWorkKinds = static_cast<int>(Work::kThreadStart) + 1;

// As they are called in specifications, records and calibrations.
constexpr std::array<const char*, kWorkKinds> kWorkNames = {
    "puts",
    "gets",
    "scans",
    "scanned_records",
    "value_bytes",
    "turns",
    "compares",
    "far_compares",
    "allocations",
    "compressed_bytes",
    "uncompressed_bytes",
    "checksummed_bytes",
    "built_entries",
    "filter_checks",
    "reads",
    "read_bytes",
    "writes",
    "written_bytes",
    "file_operations",
    "listed_files",
    "locks",
    "signals",
    "waits",
    "clock_reads",
    "yields",
    "thread_starts",
};

// Whose thread it is.  A thread is of the background until it says otherwise.
enum class Role {
  kClient,      // Does a user's operations
  kBackground,  // Of the engine
  kOwn,         // Of the driver: what it does takes no simulated time
};
constexpr int kRoles = static_cast<int>(Role::kOwn) + 1;
constexpr std::array<const char*, kRoles> kRoleNames = {"client", "background",
                                                        "own"};

// How often a thread has done what, since it began; others may read it.
struct WorkCounts {
  std::array<std::atomic<uint64_t>, kWorkKinds> of{};

  void Add(Work kind, uint64_t n) {
    std::atomic<uint64_t>& count = of[static_cast<int>(kind)];
    count.store(count.load(std::memory_order_relaxed) + n,
                std::memory_order_relaxed);
  }
};

struct ThreadWork {
  Role role = Role::kBackground;
  WorkCounts counts;
};

// No constructor runs for it: it is there before anything else.
inline thread_local ThreadWork work_of_this_thread;

inline void Count(Work kind, uint64_t n = 1) {
  work_of_this_thread.counts.Add(kind, n);
}

inline void SetRoleOfThisThread(Role role) { work_of_this_thread.role = role; }

// What all threads of a role have done so far, and the real time that they
// have had of processors.
struct RoleWork {
  std::array<uint64_t, kWorkKinds> counts{};
  int64_t processor_ns = 0;
};
std::array<RoleWork, kRoles> WorkSoFar();
RoleWork Difference(const RoleWork& earlier, const RoleWork& later);

// The account of the calling thread begins and ends; of the first thread it
// began before all.
void BeginWorkOfThisThread();
void EndWorkOfThisThread();

}  // namespace recompact

#endif  // RECOMPACT_WORKLOADS_SIMULATOR_WORK_H_
