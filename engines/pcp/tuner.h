#ifndef RECOMPACT_ENGINES_PCP_TUNER_H_
#define RECOMPACT_ENGINES_PCP_TUNER_H_

#include <cstdint>
#include <map>
#include <utility>

namespace leveldb {

// Chooses how the next compaction is cut and carried out from the times that
// sub-tasks took so far (beyond the paper, which leaves the choice to the
// user).
//
// For each number of compute threads that was tried it fits a line to the times
// of each stage, a + b x bytes, and predicts from it
//   T = read + compute + write + (n - 1) max(read, compute / threads, write)
// (equation 6 with filling and draining the pipeline), and for each sub-task
// what the last compactions under the same setting took beyond it: handing
// sub-tasks on, and waiting for a processor, are in no stage.  It goes one step
// at a time, to twice or half the bytes, one thread more or less, so that it
// never believes a line far from where it was drawn.  What was not tried lately
// is expected to do as the setting next to it.
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

  // The compaction of the last choice, whose sub-tasks are learnt, read "bytes"
  // and took so many microseconds.
  void LearnWhole(uint64_t bytes, int64_t micros);

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

  // What compactions under a setting took beyond equation 6.
  struct Excess {
    double micros_per_subtask;
    int age;  // in compactions
  };
  using Setting = std::pair<uint64_t, int>;  // bytes, compute threads

  const Lines& NearestLines(int compute_threads) const;
  static double Subtasks(uint64_t bytes, const Setting& setting);
  double Equation6(uint64_t bytes, const Setting& setting) const;

  const int max_compute_threads_;
  Choice choice_;
  std::map<int, Lines> lines_;  // by compute threads
  std::map<Setting, Excess> excess_;
};

}  // namespace leveldb

#endif  // RECOMPACT_ENGINES_PCP_TUNER_H_
