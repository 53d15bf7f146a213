#ifndef RECOMPACT_ENGINES_PCP_TUNER_H_
#define RECOMPACT_ENGINES_PCP_TUNER_H_

#include <cstdint>
#include <map>

namespace leveldb {

// Chooses how the next compaction is cut and carried out from the times that
// sub-tasks took so far (beyond the paper, which leaves the choice to the
// user).
//
// For each number of compute threads that was tried it fits a line to the times
// of each stage, a + b x bytes, and predicts from it
//   T = read + compute + write + (n - 1) max(read, compute / threads, write)
// (equation 6 with filling and draining the pipeline).  It goes one step at a
// time, to twice or half the bytes, one thread more or less, so that it never
// believes a line far from where it was drawn; a number of threads that was
// not tried, or not lately, is expected to do as the next one that was.
class PipelineTuner {
 public:
  struct Choice {
    uint64_t subtask_bytes;
    int compute_threads;
    int queue_depth;
  };

  // Begins with "first".
  PipelineTuner(const Choice& first, int max_compute_threads);

  // For a compaction that reads "bytes".
  Choice Choose(uint64_t bytes);

  // A sub-task of the last choice read "bytes"; times in microseconds.
  void Learn(uint64_t bytes, int64_t read_us, int64_t compute_us,
             int64_t write_us);

 private:
  enum { kRead, kCompute, kWrite, kNumStages };

  // Sums over sub-tasks, of which older ones count less and less.
  struct Line {
    void Fade();
    void Add(double x, double y);
    double At(double x) const;
    double RelativeDeviation() const;  // of y / x

    double n = 0, x = 0, y = 0, xx = 0, xy = 0, rate = 0, rate_squares = 0;
  };
  struct Lines {
    Line stage[kNumStages];
  };

  const Lines& NearestLines(int compute_threads) const;
  double Predict(uint64_t bytes, uint64_t subtask_bytes,
                 int compute_threads) const;

  const int max_compute_threads_;
  Choice choice_;
  std::map<int, Lines> lines_;  // by compute threads
};

}  // namespace leveldb

#endif  // RECOMPACT_ENGINES_PCP_TUNER_H_
