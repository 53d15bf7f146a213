#include "ldc/adaptive_threshold.h"

#include <algorithm>

namespace leveldb {

namespace {

constexpr double kReadDominated = 0.9;  // share of reads
constexpr double kBetter = 1.02;        // a gain that counts

}  // namespace

AdaptiveThreshold::AdaptiveThreshold(int start, int window_operations)
    : most_(4 * start), window_(window_operations), value_(start) {}

int AdaptiveThreshold::Neighbour() const {
  return up_ ? std::min(2 * value_, most_) : std::max(value_ / 2, 1);
}

bool AdaptiveThreshold::EndWindow(uint64_t now_micros) {
  const double read_share = static_cast<double>(reads_) / operations_;
  const uint64_t micros = now_micros - window_start_;
  const double rate =
      static_cast<double>(operations_) / std::max<uint64_t>(micros, 1);
  const bool is_first = window_start_ == 0;
  const int before = value_;
  operations_ = reads_ = 0;
  window_start_ = now_micros;
  if (read_share >= kReadDominated) {
    value_ = std::max(value_ / 2, 1);
    tried_from_ = failures_ = rest_ = windows_ = 0;
    sum_ = 0;
    up_ = true;  // once there are writes again
  } else if (rest_ > 0) {
    rest_--;
  } else if (!is_first) {
    Climb(rate);
  }
  return value_ != before;
}

void AdaptiveThreshold::Climb(double rate) {
  if (windows_++ > 0) sum_ += rate;
  if (windows_ < kWindowsPerTrial) return;
  const double mean = sum_ / (kWindowsPerTrial - 1);
  windows_ = 0;
  sum_ = 0;
  if (tried_from_ != 0) {
    if (mean > rate_before_ * kBetter) {
      failures_ = 0;
    } else {
      value_ = tried_from_;
      up_ = !up_;
      if (++failures_ == 2) {
        failures_ = 0;
        rest_ = kRest;
      }
    }
    tried_from_ = 0;
    return;
  }
  rate_before_ = mean;
  tried_from_ = value_;
  value_ = Neighbour();
  if (value_ == tried_from_) {  // at an end
    tried_from_ = 0;
    up_ = !up_;
  }
}

}  // namespace leveldb
