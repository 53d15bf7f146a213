#ifndef RECOMPACT_ENGINES_SEAMS_STATISTICS_H_
#define RECOMPACT_ENGINES_SEAMS_STATISTICS_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string>

#include "db/dbformat.h"
#include "leveldb/options.h"
#include "leveldb/slice.h"

namespace leveldb {

class Compaction;

// What is counted, from the moment the database is opened.  Bytes are those of
// files (after compression), times are microseconds of wall clock.
enum Ticker {
  kTableBytesWritten,   // as they are written
  kFilterBytesWritten,  // of them; what follows is counted when it is done
  kFlushCount,
  kFlushBytesWritten,
  kFlushMicros,
  kCompactionCount,
  kCompactionBytesRead,
  kCompactionBytesWritten,
  kCompactionMicros,
  kCompactionFlushMicros,  // not of them: memtables that held them up
  kCompactionReadMicros,   // the steps, in the order of Stage
  kCompactionCrcMicros,
  kCompactionDecompressMicros,
  kCompactionSortMicros,
  kCompactionCompressMicros,
  kCompactionRecrcMicros,
  kCompactionWriteMicros,
  kCompactionSyncMicros,
  kCompactionSubtasks,
  kCompactionReadQueueMicros,   // of sub-tasks that wait to be computed, ...
  kCompactionWriteQueueMicros,  // ... and to be written, summed over them
  kSeekCompactionCount,
  kTrivialMoveCount,
  kTrivialMoveBytes,
  kLinkCount,
  kMergeCount,           // of parts of tables, among the compactions
  kBufferSwapCount,      // levels that became the next one, in one record
  kBufferTrimmedTables,  // of the compaction buffer, given up for lack of reads
  kWalBytesWritten,
  kManifestBytesWritten,
  kBlockReads,  // of user reads, as are the three that follow
  kBlockReadBytes,
  kBlockCacheHits,
  kBlockCacheMisses,
  kCacheInvalidatedBlocks,  // cached, when their table was closed
  kCompactionBlockReads,
  kCompactionBlockReadBytes,
  kBloomNegatives,
  kBloomPositives,
  kBloomFalsePositives,
  kTableOpens,
  kGetsFromBuffer,       // that a table of the compaction buffer ended
  kBufferFallbacks,      // gets that the levels answered, as the buffer failed
  kScanCount,            // iterators of the user
  kScanTables,           // tables that they began to read, summed over them
  kStallSlowdownMicros,  // L0 is near its limit: one write waits for 1 ms
  kStallSlowdownCount,
  kStallMemtableMicros,  // both memtables are full
  kStallMemtableCount,
  kStallL0Micros,  // L0 is at its limit
  kStallL0Count,
  kNumTickers
};

// Why a write had to wait.
enum StallCause {
  kStallSlowdown = kStallSlowdownMicros,
  kStallMemtable = kStallMemtableMicros,
  kStallL0 = kStallL0Micros
};

// What a flush or compaction spends its time on: the seven steps of PCP II-A,
// and the syncing of finished tables.  Where nothing times kStageSort itself,
// it is what the others leave of the duration.
enum Stage {
  kStageRead,
  kStageCrc,
  kStageDecompress,
  kStageSort,
  kStageCompress,
  kStageRecrc,
  kStageWrite,
  kStageSync,
  kNumStages
};

using StageTimes = std::array<uint64_t, kNumStages>;  // nanoseconds

// The counters and the event log of one open database.  Safe for concurrent
// use.
class Statistics {
 public:
  // Appends one JSON object per action to the file "event_log_path"; keeps no
  // log if it is empty or cannot be opened.
  explicit Statistics(const std::string& event_log_path);
  Statistics(const Statistics&) = delete;
  Statistics& operator=(const Statistics&) = delete;
  ~Statistics();

  void Add(Ticker ticker, uint64_t n) {
    tickers_[ticker].fetch_add(n, std::memory_order_relaxed);
  }

  // A memtable became a table of "bytes" bytes at "level".
  // REQUIRES: an ActionScope of the flush is alive on this thread
  void OnFlush(int level, uint64_t bytes, uint64_t micros);

  // "c" was carried out in "micros", and "flush_micros" during which its thread
  // flushed memtables.
  // REQUIRES: an ActionScope of the compaction is alive on this thread
  void OnCompaction(const Compaction& c, size_t outputs, uint64_t bytes_written,
                    uint64_t micros, uint64_t flush_micros);

  // The only input of "c" was moved down one level.
  void OnTrivialMove(const Compaction& c);

  // The tables of the upper level of "c" were linked to files of the lower one,
  // or became the lower one.
  void OnLink(const Compaction& c);

  // The tickers as the members of a JSON object, without the braces.
  std::string TickersAsJson() const;

  // The counters of "level" in the same form.
  std::string LevelAsJson(int level) const;

 private:
  struct LevelCounters {
    std::atomic<uint64_t> flush_count{0};
    std::atomic<uint64_t> compaction_count{0};
    std::atomic<uint64_t> bytes_read{0};
    std::atomic<uint64_t> bytes_written{0};
    std::atomic<uint64_t> trivial_move_count{0};
    std::atomic<uint64_t> micros{0};
  };

  struct Event;
  void LogEvent(const Event& event);

  const std::chrono::steady_clock::time_point opened_;
  std::atomic<uint64_t> tickers_[kNumTickers] = {};
  LevelCounters levels_[config::kNumLevels];  // by level of the output
  std::mutex event_log_mutex_;
  std::FILE* event_log_;
};

// Marks the thread as a background thread while it lives: what it reads is
// counted as compaction reads.
class BackgroundScope {
 public:
  BackgroundScope();
  ~BackgroundScope();
};

// Collects the stage times of one flush or compaction on this thread, and names
// it for CurrentAction().  A flush inside a compaction has a scope of its own,
// so that neither is charged for the other.
class ActionScope {
 public:
  explicit ActionScope(const char* name);
  ~ActionScope();

 private:
  const char* outer_name_;
  StageTimes outer_times_;
  std::string outer_event_members_;
};

// Microseconds since some moment of the past, by a clock that never steps back.
uint64_t SteadyMicros();

// The stage times so far of the action that this thread is in.
StageTimes ActionTimes();

// Adds those that other threads spent on it.
void AddActionTimes(const StageTimes& times);

// Adds members, written as JSON, to the line that the event log gets for the
// action that this thread is in.
void AddToEvent(const std::string& json_members);

// Adds its lifetime, but for that of timers inside it, to a stage of the action
// that this thread is in.
class StageTimer {
 public:
  explicit StageTimer(Stage stage);
  ~StageTimer();

 private:
  const Stage stage_;
  const bool active_;
  StageTimer* const outer_;
  std::chrono::steady_clock::time_point start_;
};

// Adds its lifetime to the stalls of one cause.
class StallTimer {
 public:
  StallTimer(Statistics* statistics, StallCause cause);
  ~StallTimer();

 private:
  Statistics* const statistics_;
  const StallCause cause_;
  const std::chrono::steady_clock::time_point start_;
};

// The functions below do nothing where "statistics" is null: a table can be
// opened without a database.

inline void RecordTick(Statistics* statistics, Ticker ticker, uint64_t n) {
  if (statistics != nullptr) statistics->Add(ticker, n);
}

// A data block was found in the block cache.
void RecordCacheHit(Statistics* statistics);

// An iterator of the user begins to read a table.
void RecordScanTable(Statistics* statistics);

// A data block of "bytes" bytes was not in the block cache and was read.
void RecordBlockRead(Statistics* statistics, uint64_t bytes);

// The Bloom filter let a lookup of "internal_key" pass and the block holds
// "found" at that place (empty if nothing).
void RecordBloomPositive(Statistics* statistics, const Slice& internal_key,
                         const Slice& found);

inline Options WithStatistics(Options options, Statistics* statistics) {
  options.statistics = statistics;
  return options;
}

}  // namespace leveldb

#endif  // RECOMPACT_ENGINES_SEAMS_STATISTICS_H_
