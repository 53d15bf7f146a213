// What the tuner chooses, for machines that are known.
#include "pcp/tuner.h"

#include <algorithm>
#include <cmath>

#include "gtest/gtest.h"

namespace leveldb {
namespace {

// Microseconds per sub-task and per MiB of each stage; each compute thread up
// to "processors" is a whole one.
struct Machine {
  double read_each, read, compute, write_each, write;
  int processors;
  double crowding = 1;  // 2: threads beyond the processors slow each other down
  double handing_on = 0;  // from stage to stage, in no stage's time

  double Read(double mib) const { return read_each + read * mib; }
  double Write(double mib) const { return write_each + write * mib; }
  // Threads beyond the processors take turns.
  double Compute(double mib, int threads) const {
    const double share = std::max(1.0, 1.0 * threads / processors);
    return compute * mib * std::pow(share, crowding);
  }
  double Total(double mib, const PipelineTuner::Choice& choice) const {
    const double size =
        std::min(mib, static_cast<double>(choice.subtask_bytes) / (1 << 20));
    const double n = std::ceil(mib / size);
    const double compute_time = Compute(size, choice.compute_threads);
    return Read(size) + compute_time + Write(size) + n * handing_on +
           (n - 1) * std::max({Read(size), Write(size),
                               compute_time / choice.compute_threads});
  }
};

constexpr double kCompactionMiB = 24;

// Time of the last one of so many compactions.
double TimeAfter(const Machine& machine, int compactions,
                 PipelineTuner* tuner) {
  PipelineTuner::Choice choice{};
  for (int i = 0; i < compactions; i++) {
    choice = tuner->Choose(static_cast<uint64_t>(kCompactionMiB * (1 << 20)));
    const double size = static_cast<double>(choice.subtask_bytes) / (1 << 20);
    for (double left = kCompactionMiB; left > 0; left -= size) {
      // The last one is smaller, as in most compactions.
      const double mib = std::min(size, std::max(left - 0.1, 0.1));
      tuner->Learn(static_cast<uint64_t>(mib * (1 << 20)),
                   std::lround(machine.Read(mib)),
                   std::lround(machine.Compute(mib, choice.compute_threads)),
                   std::lround(machine.Write(mib)));
    }
    tuner->LearnWhole(static_cast<uint64_t>(kCompactionMiB * (1 << 20)),
                      std::lround(machine.Total(kCompactionMiB, choice)));
  }
  return machine.Total(kCompactionMiB, choice);
}

double Best(const Machine& machine) {
  double best = 1e99;
  for (uint64_t bytes = 64 << 10; bytes <= 16 << 20; bytes *= 2) {
    for (int threads = 1; threads <= 4; threads++) {
      best = std::min(best, machine.Total(kCompactionMiB, {bytes, threads, 2}));
    }
  }
  return best;
}

TEST(PipelineTuner, ComesWithinFivePercentOfTheBestFixedChoice) {
  const Machine machines[] = {
      {100, 4000, 10000, 100, 10000, 2},     // an SSD that keeps up
      {100, 1000, 10000, 100, 1000, 2},      // bound by computation
      {40000, 8000, 10000, 13000, 8000, 2},  // a disk that seeks
      {2000, 500, 10000, 2000, 500, 8},      // bound by computation, processors
      {50, 100, 10000, 50, 100, 1},          // one processor
      {100, 2000, 6000, 100, 3000, 2, 1, 900},  // slow to hand on
  };
  for (const Machine& machine : machines) {
    PipelineTuner tuner({512 << 10, 1, 2}, 4);
    EXPECT_LE(TimeAfter(machine, 12, &tuner), 1.05 * Best(machine))
        << machine.read;
  }
}

TEST(PipelineTuner, TriesAnewWhatWasSlowOnce) {
  const Machine busy{100, 1000, 10000, 100, 1000, 1, 2};
  const Machine idle{100, 1000, 10000, 100, 1000, 2};
  PipelineTuner tuner({512 << 10, 1, 2}, 2);
  TimeAfter(busy, 6, &tuner);
  EXPECT_LE(TimeAfter(idle, 30, &tuner), 1.05 * Best(idle));
}

TEST(PipelineTuner, BeginsWithTheChoiceGiven) {
  PipelineTuner tuner({256 << 10, 3, 5}, 4);
  const PipelineTuner::Choice choice = tuner.Choose(10 << 20);
  EXPECT_EQ(choice.subtask_bytes, 256u << 10);
  EXPECT_EQ(choice.compute_threads, 3);
  EXPECT_EQ(choice.queue_depth, 5);
}

TEST(PipelineTuner, QueuesGrowWithHowMuchStagesVary) {
  const auto depth = [](double factor) {
    PipelineTuner tuner({1 << 20, 1, 2}, 1);
    tuner.Choose(8 << 20);
    for (int i = 0; i < 50; i++) {
      tuner.Learn(1 << 20, std::lround(1000 * (i % 5 == 0 ? factor : 1)), 1000,
                  1000);
    }
    return tuner.Choose(8 << 20).queue_depth;
  };
  EXPECT_EQ(depth(1), 1);
  EXPECT_GT(depth(9), 2);
  EXPECT_LE(depth(1000), 8);
}

TEST(PipelineTuner, EmptySubtasksTeachNothing) {
  PipelineTuner tuner({512 << 10, 1, 2}, 4);
  tuner.Learn(0, 10, 10, 10);
  tuner.Learn(1000, 0, 10, 10);
  EXPECT_EQ(tuner.Choose(8 << 20).subtask_bytes, 512u << 10);
}

}  // namespace
}  // namespace leveldb
