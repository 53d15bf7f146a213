#include "pcp/tuner.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>

namespace leveldb {

namespace {

constexpr uint64_t kSmallestSubtask = 64 << 10;
constexpr uint64_t kLargestSubtask = 16 << 20;
constexpr int kDeepestQueue = 8;

// What the sub-tasks of a compaction count less than those of the next.
constexpr double kFading = 0.7;

// Lines of so few sub-tasks are forgotten, so that what was slow once is tried
// anew.
constexpr double kForgotten = 0.5;

// Compactions after which a setting is worth another try.
constexpr int kOld = 32;

// A change has to promise so much less time.
constexpr double kWorthwhile = 0.97;

}  // namespace

void PipelineTuner::Line::Fade() {
  for (double* sum : {&n, &x, &y, &xx, &xy, &rate, &rate_squares}) {
    *sum *= kFading;
  }
}

void PipelineTuner::Line::Add(double new_x, double new_y) {
  n += 1;
  x += new_x;
  y += new_y;
  xx += new_x * new_x;
  xy += new_x * new_y;
  rate += new_y / new_x;
  rate_squares += new_y / new_x * new_y / new_x;
}

double PipelineTuner::Line::At(double at) const {
  // Least squares, where neither a byte nor a sub-task takes less than nothing.
  const double spread = n * xx - x * x;
  if (spread <= 1e-6 * n * xx) return y / x * at;
  const double per_byte = (n * xy - x * y) / spread;
  const double per_subtask = (y - per_byte * x) / n;
  if (per_subtask < 0) return xy / xx * at;
  if (per_byte < 0) return y / n;
  return per_subtask + per_byte * at;
}

double PipelineTuner::Line::RelativeDeviation() const {
  const double mean = rate / n;
  return std::sqrt(std::max(0.0, rate_squares / n - mean * mean)) / mean;
}

PipelineTuner::PipelineTuner(const Choice& first, int max_compute_threads)
    : max_compute_threads_(max_compute_threads), choice_(first) {}

PipelineTuner::Choice PipelineTuner::Choose(uint64_t bytes) {
  if (lines_.empty()) return choice_;
  const Choice last = choice_;
  const auto known = excess_.find({last.subtask_bytes, last.compute_threads});
  const double usual =
      known == excess_.end() ? 0 : known->second.micros_per_subtask;
  const auto predict = [&](const Setting& setting) {
    const auto own = excess_.find(setting);
    return Equation6(bytes, setting) +
           Subtasks(bytes, setting) *
               (own == excess_.end() ? usual : own->second.micros_per_subtask);
  };
  double best =
      kWorthwhile * predict({last.subtask_bytes, last.compute_threads});
  for (const uint64_t subtask_bytes :
       {last.subtask_bytes / 2, last.subtask_bytes, last.subtask_bytes * 2}) {
    if (subtask_bytes < kSmallestSubtask || subtask_bytes > kLargestSubtask) {
      continue;
    }
    for (int threads = std::max(1, last.compute_threads - 1);
         threads <= std::min(max_compute_threads_, last.compute_threads + 1);
         threads++) {
      const double time = predict({subtask_bytes, threads});
      if (time >= best) continue;
      best = time;
      choice_.subtask_bytes = subtask_bytes;
      choice_.compute_threads = threads;
    }
  }
  // A queue makes up for what a stage takes longer than it does on average.
  double deviation = 0;
  for (const Line& line : NearestLines(choice_.compute_threads).stage) {
    deviation = std::max(deviation, line.RelativeDeviation());
  }
  choice_.queue_depth =
      std::clamp(static_cast<int>(std::ceil(2 * deviation)), 1, kDeepestQueue);
  for (auto i = lines_.begin(); i != lines_.end();) {
    for (Line& line : i->second.stage) line.Fade();
    const bool is_forgotten = i->second.stage[kRead].n < kForgotten;
    i = is_forgotten ? lines_.erase(i) : std::next(i);
  }
  for (auto i = excess_.begin(); i != excess_.end();) {
    i = ++i->second.age > kOld ? excess_.erase(i) : std::next(i);
  }
  return choice_;
}

void PipelineTuner::Learn(uint64_t bytes, int64_t read_us, int64_t compute_us,
                          int64_t write_us) {
  if (bytes == 0 || read_us <= 0 || compute_us <= 0 || write_us <= 0) return;
  Line* const stages = lines_[choice_.compute_threads].stage;
  const double x = static_cast<double>(bytes);
  stages[kRead].Add(x, static_cast<double>(read_us));
  stages[kCompute].Add(x, static_cast<double>(compute_us));
  stages[kWrite].Add(x, static_cast<double>(write_us));
}

void PipelineTuner::LearnWhole(uint64_t bytes, int64_t micros) {
  if (bytes == 0 || lines_.empty()) return;
  const Setting setting{choice_.subtask_bytes, choice_.compute_threads};
  const double beyond =
      (static_cast<double>(micros) - Equation6(bytes, setting)) /
      Subtasks(bytes, setting);
  const auto [excess, is_new] = excess_.try_emplace(setting, Excess{beyond, 0});
  if (!is_new) {
    excess->second = {(excess->second.micros_per_subtask + beyond) / 2, 0};
  }
}

const PipelineTuner::Lines& PipelineTuner::NearestLines(
    int compute_threads) const {
  auto nearest = lines_.begin();
  for (auto i = lines_.begin(); i != lines_.end(); ++i) {
    if (std::abs(i->first - compute_threads) <
        std::abs(nearest->first - compute_threads)) {
      nearest = i;
    }
  }
  return nearest->second;
}

double PipelineTuner::Subtasks(uint64_t bytes, const Setting& setting) {
  return std::max(
      1.0, static_cast<double>(bytes) / static_cast<double>(setting.first));
}

double PipelineTuner::Equation6(uint64_t bytes, const Setting& setting) const {
  const auto [subtask_bytes, compute_threads] = setting;
  const Line* const stages = NearestLines(compute_threads).stage;
  const double size = static_cast<double>(std::min(bytes, subtask_bytes));
  const double n = Subtasks(bytes, setting);
  const double read = stages[kRead].At(size);
  const double compute = stages[kCompute].At(size);
  const double write = stages[kWrite].At(size);
  const double threads = std::min<double>(compute_threads, std::ceil(n));
  return read + compute + write +
         (n - 1) * std::max({read, compute / threads, write});
}

}  // namespace leveldb
