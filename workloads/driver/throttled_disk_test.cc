#include "driver/throttled_disk.h"

#include <vector>

#include "gtest/gtest.h"

namespace recompact {
namespace {

constexpr int64_t kMs = 1000 * 1000;
constexpr uint64_t kMiB = 1 << 20;

class ThrottledDiskTest : public ::testing::Test {
 protected:
  static DeviceParameters Parameters() {
    DeviceParameters parameters;
    parameters.kind = DeviceKind::kThrottled;
    parameters.read_bandwidth_mb_s = 200;
    parameters.write_bandwidth_mb_s = 100;  // 10 MB in a slice
    parameters.read_iops = 4000;
    parameters.write_iops = 2000;
    parameters.slice_ms = 100;
    return parameters;
  }

  static Request Of(Request::Direction direction, uint64_t length) {
    return {direction, Request::kUser, 0, length, 0};
  }

  // The times, in ms, after which "n" writes are through, each issued when the
  // one before it is, the first at "now_ns".
  std::vector<int64_t> Writes(int64_t now_ns, int n, uint64_t length) {
    std::vector<int64_t> times;
    for (int64_t at_ns = now_ns; n > 0; n--) {
      at_ns = disk_.Submit(at_ns, Of(Request::kWrite, length));
      times.push_back((at_ns - now_ns) / kMs);
    }
    return times;
  }

  ThrottledDisk disk_{Parameters()};
};

// What a loop device with these limits did on Linux 6.18, but for 1 to 8 ms of
// its own: 9, 10, 9 and 9 writes of 1 MiB in each tenth of a second.
TEST_F(ThrottledDiskTest, ASliceGoesAtOnce) {
  const std::vector<int64_t> times = Writes(3 * kMs, 38, kMiB);
  for (size_t i = 0; i < times.size(); i++) {
    const uint64_t bytes = (i + 1) * kMiB;
    const int64_t whole_slices = (bytes - 1) / (10 * 1000 * 1000);
    EXPECT_GE(times[i], 100 * whole_slices) << i;
    EXPECT_LE(times[i], 100 * whole_slices + 10) << i;
  }
}

TEST_F(ThrottledDiskTest, WhoeverExceedsTheGrantWaitsForTheRestToo) {
  EXPECT_EQ(disk_.Submit(0, Of(Request::kWrite, 9 * kMiB)), 0);
  // 485,760 bytes too many.
  EXPECT_NEAR(disk_.Submit(0, Of(Request::kWrite, kMiB)), 104.8576 * kMs, 1);
}

TEST_F(ThrottledDiskTest, OneRequestMayNeedManySlices) {
  const int64_t done_ns =
      disk_.Submit(0, Of(Request::kWrite, 100 * 1000 * 1000));
  EXPECT_EQ(done_ns, 1000 * kMs);
  EXPECT_EQ(disk_.QueueNs(400 * kMs), 600 * kMs);
  EXPECT_EQ(disk_.QueueNs(1001 * kMs), 0);
  // Its bytes are all granted by then.
  EXPECT_EQ(disk_.Submit(done_ns, Of(Request::kWrite, 9 * kMiB)), done_ns);
}

TEST_F(ThrottledDiskTest, OverManySlicesTheBandwidthIsKept) {
  EXPECT_NEAR(Writes(0, 10000, kMiB).back(), 10000 * 10.48576, 101);
}

TEST_F(ThrottledDiskTest, RequestsAreCountedAsBytesAre) {
  const std::vector<int64_t> times = Writes(0, 1000, 4096);
  EXPECT_EQ(times[199], 0);
  EXPECT_EQ(times[200], 100);
  EXPECT_EQ(times[399], 100);
  EXPECT_EQ(times[999], 400);
}

TEST_F(ThrottledDiskTest, PartsOfAUnitAreOneRequest) {
  Request part = Of(Request::kWrite, 4096);
  part.request_class = Request::kStream;
  part.stream_unit_bytes = 8192;
  for (int i = 0; i < 400; i++) EXPECT_EQ(disk_.Submit(0, part), 0);
  EXPECT_GE(disk_.Submit(0, part), 100 * kMs);
}

TEST_F(ThrottledDiskTest, ReadsAndWritesDoNotCountForEachOther) {
  Writes(0, 100, kMiB);
  EXPECT_EQ(disk_.Submit(0, Of(Request::kRead, 19 * kMiB)), 0);
}

TEST_F(ThrottledDiskTest, NothingIsSavedUp) {
  Writes(0, 5, kMiB);
  EXPECT_EQ(disk_.Submit(95 * kMs, Of(Request::kWrite, kMiB)), 95 * kMs);
  // The second slice grants its own bytes, not what the first left.
  EXPECT_EQ(disk_.Submit(150 * kMs, Of(Request::kWrite, 9 * kMiB)), 150 * kMs);
  EXPECT_NEAR(disk_.Submit(150 * kMs, Of(Request::kWrite, kMiB)),
              204.8576 * kMs, 1);
}

TEST_F(ThrottledDiskTest, AfterAPauseSlicesBeginAnew) {
  Writes(0, 9, kMiB);
  EXPECT_EQ(disk_.Submit(290 * kMs, Of(Request::kWrite, 9 * kMiB)), 290 * kMs);
  // It would have ended at 300 ms, had the count gone on.
  EXPECT_GE(disk_.Submit(310 * kMs, Of(Request::kWrite, kMiB)), 390 * kMs);
}

TEST_F(ThrottledDiskTest, TimesNeedNotRise) {
  EXPECT_EQ(disk_.Submit(500 * kMs, Of(Request::kWrite, kMiB)), 500 * kMs);
  EXPECT_EQ(disk_.Submit(499 * kMs, Of(Request::kWrite, kMiB)), 500 * kMs);
}

}  // namespace
}  // namespace recompact
