#ifndef RECOMPACT_ENGINES_LDC_ADAPTIVE_THRESHOLD_H_
#define RECOMPACT_ENGINES_LDC_ADAPTIVE_THRESHOLD_H_

#include <cstdint>

namespace leveldb {

// A SliceLink threshold that follows what the database is used for (LDC
// III-B 4).  The paper gives the idea: where reads dominate, lower it until
// that gains nothing more; where writes do, raise it now and then.
//
// Operations are looked at in windows.  While nearly all are reads, each window
// halves the threshold, down to 1.  Otherwise it is climbed: some windows at
// the threshold, then as many at twice or half of it, and the better one stays.
// Where neither neighbour is better, it rests for a while.
class AdaptiveThreshold {
 public:
  // Starts at "start", and never goes beyond four times of it.
  // REQUIRES: both are at least 1
  AdaptiveThreshold(int start, int window_operations);

  int value() const { return value_; }

  // Counts one operation; returns true at the end of a window, when the caller
  // is to call EndWindow.
  bool Count(bool is_read) {
    reads_ += is_read ? 1 : 0;
    return ++operations_ >= window_;
  }

  // Ends a window at "now_micros"; returns true iff the value has changed.
  bool EndWindow(uint64_t now_micros);

 private:
  // Of the windows at one value the first is left out: what was begun under
  // the value before still runs in it.
  static constexpr int kWindowsPerTrial = 4;
  static constexpr int kRest = 16;

  void Climb(double operations_per_micro);
  int Neighbour() const;

  const int most_;
  const int window_;
  int value_;
  int operations_ = 0;
  int reads_ = 0;
  uint64_t window_start_ = 0;

  int tried_from_ = 0;  // the value to go back to, or 0 while none is tried
  bool up_ = true;
  int failures_ = 0;  // in a row
  int rest_ = 0;      // windows
  int windows_ = 0;   // of this trial
  double sum_ = 0;    // of their rates
  double rate_before_ = 0;
};

}  // namespace leveldb

#endif  // RECOMPACT_ENGINES_LDC_ADAPTIVE_THRESHOLD_H_
