#include "driver/device_model.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace recompact {
namespace {

constexpr int kRequestsEach = 200;
constexpr uint64_t kUnit = 128 << 10;

DeviceParameters SsdParameters() {
  DeviceParameters parameters;
  parameters.kind = DeviceKind::kSsd;
  parameters.read_bandwidth_mb_s = 2000;
  parameters.write_bandwidth_mb_s = 500;
  parameters.read_latency_us = 80;
  parameters.write_latency_us = 20;
  parameters.channels = 4;
  parameters.half_duplex = true;
  return parameters;
}

DeviceParameters HddParameters() {
  DeviceParameters parameters;
  parameters.kind = DeviceKind::kHdd;
  parameters.read_bandwidth_mb_s = 120;
  parameters.write_bandwidth_mb_s = 100;
  parameters.read_seek_ms = 8;
  parameters.write_seek_ms = 9;
  parameters.rotation_rpm = 7500;  // Half a rotation: 4 ms
  return parameters;
}

DeviceParameters ShingledParameters(DeviceKind kind) {
  DeviceParameters parameters = HddParameters();
  parameters.kind = kind;
  parameters.band_bytes = 64 << 10;
  parameters.media_cache_bytes = 256 << 10;
  parameters.clean_after_idle_ms = 15;
  return parameters;
}

DeviceParameters Raid0Parameters() {
  DeviceParameters parameters;
  parameters.kind = DeviceKind::kRaid0;
  parameters.members = 2;
  parameters.chunk_bytes = 64 << 10;
  parameters.member = std::make_shared<DeviceParameters>(HddParameters());
  return parameters;
}

using Pattern = std::function<uint64_t(int requester, int i, uint64_t length)>;

// Each requester reads or writes on, far from the others.
uint64_t Sequential(int requester, int i, uint64_t length) {
  return (uint64_t(requester) << 32) + i * length;
}

// No two requests are neighbours.  Even requesters stay on the first member of
// a RAID-0 with two, odd ones on the second.
uint64_t Random(int requester, int i, uint64_t) {
  const uint64_t stripe = (i * 7919 + requester * 104729) % 1000003;
  return stripe * (128 << 10) + (requester % 2) * (64 << 10);
}

// The time, in seconds, after which the last of the requesters has its last
// request done and the device is idle, if each issues one at the completion of
// the one before.
double Elapsed(const DeviceParameters& parameters, int requesters,
               Request request, const Pattern& pattern) {
  const auto model = NewDeviceModel(parameters);
  using Issue = std::pair<int64_t, int>;  // Time, requester
  std::priority_queue<Issue, std::vector<Issue>, std::greater<Issue>> issues;
  std::vector<int> issued(requesters, 0);
  for (int r = 0; r < requesters; r++) issues.emplace(0, r);
  int64_t last_ns = 0;
  while (!issues.empty()) {
    const auto [now_ns, r] = issues.top();
    issues.pop();
    last_ns = std::max(last_ns, now_ns);
    if (issued[r] == kRequestsEach) continue;
    request.address = pattern(r, issued[r]++, request.length);
    issues.emplace(model->Submit(now_ns, request), r);
  }
  return (last_ns + model->QueueNs(last_ns)) * 1e-9;
}

Request UserRead(uint64_t length) {
  return {Request::kRead, Request::kUser, 0, length, kUnit};
}
Request StreamRead(uint64_t length) {
  return {Request::kRead, Request::kStream, 0, length, kUnit};
}
Request StreamWrite(uint64_t length) {
  return {Request::kWrite, Request::kStream, 0, length, kUnit};
}

// "seconds" may differ from the formula's by 5 %: the last requests of several
// requesters leave channels idle.
void ExpectFormula(double seconds, double formula) {
  EXPECT_NEAR(seconds / formula, 1, 0.05) << formula << " s expected";
}

class RequestersTest : public ::testing::TestWithParam<int> {
 protected:
  const int requesters_ = GetParam();
  const double requests_ = requesters_ * kRequestsEach;
};
INSTANTIATE_TEST_SUITE_P(OneTwoEight, RequestersTest,
                         ::testing::Values(1, 2, 8));

// The slower of: each requester's own requests one after the other, all
// requests over four channels, all transfers over the bus.
double SsdSeconds(int requesters, double requests, double transfer_s,
                  double latency_s) {
  const double service_s = transfer_s + latency_s;
  return std::max({requests / requesters * service_s, requests / 4 * service_s,
                   requests * transfer_s});
}

TEST_P(RequestersTest, SsdRandomRead) {
  ExpectFormula(Elapsed(SsdParameters(), requesters_, UserRead(4096), Random),
                SsdSeconds(requesters_, requests_, 4096 / 2e9, 80e-6));
}

TEST_P(RequestersTest, SsdLargeRandomReadIsHeldUpByTheBus) {
  ExpectFormula(
      Elapsed(SsdParameters(), requesters_, UserRead(1 << 20), Random),
      SsdSeconds(requesters_, requests_, (1 << 20) / 2e9, 80e-6));
}

TEST_P(RequestersTest, SsdSequentialReadPaysTheShareOfALatency) {
  ExpectFormula(
      Elapsed(SsdParameters(), requesters_, StreamRead(4096), Sequential),
      SsdSeconds(requesters_, requests_, 4096 / 2e9,
                 80e-6 * 4096 / double{kUnit}));
}

TEST_P(RequestersTest, SsdRandomAndSequentialWrite) {
  for (const Pattern& pattern : {Pattern(Random), Pattern(Sequential)}) {
    ExpectFormula(
        Elapsed(SsdParameters(), requesters_, StreamWrite(kUnit), pattern),
        SsdSeconds(requesters_, requests_, kUnit / 5e8, 20e-6));
  }
}

TEST_P(RequestersTest, HddRandomRead) {
  ExpectFormula(Elapsed(HddParameters(), requesters_, UserRead(4096), Random),
                requests_ * (8e-3 + 4e-3 + 4096 / 120e6));
}

TEST_P(RequestersTest, HddRandomWriteInWholeUnits) {
  ExpectFormula(
      Elapsed(HddParameters(), requesters_, StreamWrite(kUnit), Random),
      requests_ * (9e-3 + 4e-3 + kUnit / 100e6));
}

TEST_P(RequestersTest, HddRandomStreamPaysTheShareOfAPositioning) {
  ExpectFormula(Elapsed(HddParameters(), requesters_, StreamRead(4096), Random),
                requests_ * (12e-3 * 4096 / double{kUnit} + 4096 / 120e6));
}

// One stream keeps the head; several take it from each other.
TEST_P(RequestersTest, HddSequentialRead) {
  const double positionings = requesters_ == 1 ? 1 : requests_;
  ExpectFormula(
      Elapsed(HddParameters(), requesters_, UserRead(kUnit), Sequential),
      positionings * 12e-3 + requests_ * kUnit / 120e6);
}

TEST_P(RequestersTest, HddSequentialWrite) {
  const double positionings = requesters_ == 1 ? 1 : requests_;
  ExpectFormula(
      Elapsed(HddParameters(), requesters_, StreamWrite(kUnit), Sequential),
      positionings * 13e-3 + requests_ * kUnit / 100e6);
}

// Requesters on different members do not hold each other up.
TEST_P(RequestersTest, Raid0RandomReadAndWrite) {
  const double turns = requests_ / std::min(requesters_, 2);
  ExpectFormula(Elapsed(Raid0Parameters(), requesters_, UserRead(4096), Random),
                turns * (12e-3 + 4096 / 120e6));
  Request write = StreamWrite(4096);
  write.stream_unit_bytes = 4096;
  ExpectFormula(Elapsed(Raid0Parameters(), requesters_, write, Random),
                turns * (13e-3 + 4096 / 100e6));
}

// A request of two whole stripes keeps both members busy with half of it.
TEST_P(RequestersTest, Raid0SequentialReadAndWrite) {
  const uint64_t length = 256 << 10;
  const double positionings = requesters_ == 1 ? 1 : requests_;
  ExpectFormula(
      Elapsed(Raid0Parameters(), requesters_, UserRead(length), Sequential),
      positionings * 12e-3 + requests_ * length / 2 / 120e6);
  ExpectFormula(
      Elapsed(Raid0Parameters(), requesters_, StreamWrite(length), Sequential),
      positionings * 13e-3 + requests_ * length / 2 / 100e6);
}

TEST(SsdTest, FullDuplexDoesNotShareTheBus) {
  for (const bool half_duplex : {true, false}) {
    DeviceParameters parameters = SsdParameters();
    parameters.half_duplex = half_duplex;
    const auto model = NewDeviceModel(parameters);
    Request write = StreamWrite(1 << 20), read = UserRead(1 << 20);
    const int64_t written_ns = model->Submit(0, write);
    EXPECT_EQ(written_ns, 2097152 + 20000);
    EXPECT_EQ(model->Submit(0, read),
              (half_duplex ? 2097152 : 0) + 524288 + 80000);
  }
}

TEST(ScaleTest, BandsCacheAndPausesOfAShingledDiskAreDivided) {
  DeviceParameters parameters = ShingledParameters(DeviceKind::kSmr);
  parameters.sync_latency_us = 600;
  const DeviceParameters scaled = AtScale(parameters, 3);
  EXPECT_EQ(scaled.band_bytes, 20480u);  // Of whole blocks
  EXPECT_EQ(scaled.media_cache_bytes, 87381u);
  EXPECT_EQ(scaled.clean_after_idle_ms, 5);
  EXPECT_EQ(scaled.cleaning_share, 1.0 / 3);
  EXPECT_EQ(scaled.read_seek_ms, parameters.read_seek_ms);
  EXPECT_EQ(scaled.sync_latency_us, parameters.sync_latency_us);
  const DeviceParameters tiny = AtScale(parameters, 1e6);
  EXPECT_EQ(tiny.band_bytes, 4096u);
  EXPECT_EQ(tiny.media_cache_bytes, 4096u);
  EXPECT_EQ(AtScale(HddParameters(), 3).band_bytes, 0u);
}

TEST(HddTest, ServesInTheOrderOfSubmission) {
  const auto model = NewDeviceModel(HddParameters());
  Request request = UserRead(120);
  EXPECT_EQ(model->Submit(1000, request), 1000 + 12001000);
  EXPECT_EQ(model->QueueNs(2000), 12000000);
  request.address = 120;  // Contiguous, but after the first
  EXPECT_EQ(model->Submit(500, request), 1000 + 12001000 + 1000);
  EXPECT_EQ(model->QueueNs(20000000), 0);
}

// Behind a user's read, parts of a unit wait for most of it in all, and leave
// the rest to the next unit.  The arm is at work for as long as in any order.
TEST(HddTest, AUnitWaitsOnceWhateverItIsReadIn) {
  const int64_t user_ns = 12000000 + 34133;  // 4 KiB at 120 MB/s
  const int64_t unit_ns = 12000000 + 1092267;
  for (const int parts : {1, 2, 8, 32}) {
    const auto model = NewDeviceModel(HddParameters());
    Request user = UserRead(4096), part = StreamRead(kUnit / parts);
    user.address = 1 << 30;
    EXPECT_EQ(model->Submit(0, user), user_ns);
    int64_t now_ns = 0;
    for (int i = 0; i < parts; i++) {
      part.address = i * 2 * kUnit;
      now_ns = model->Submit(now_ns, part);
    }
    const int64_t waited_ns = now_ns - unit_ns;
    EXPECT_LE(waited_ns, user_ns + parts);
    EXPECT_GE(waited_ns, user_ns * (parts == 1 ? 1 : 0.63));
    EXPECT_NEAR(now_ns + model->QueueNs(now_ns), user_ns + unit_ns, parts);
  }
}

// However small the parts are, streams get no more than the arm gives, but for
// the units that are owed at the end.
TEST(HddTest, StreamsAreHeldUpByEachOther) {
  const auto model = NewDeviceModel(HddParameters());
  const int64_t part_ns = 12000000 / 32 + 34133;
  std::vector<int64_t> now_ns(8, 0);
  constexpr int kParts = 1000;
  for (int i = 0; i < kParts; i++) {
    for (size_t stream = 0; stream < now_ns.size(); stream++) {
      Request part = StreamRead(4096);
      part.address = (stream * kParts + i) * 2 * kUnit;
      now_ns[stream] = model->Submit(now_ns[stream], part);
    }
  }
  const int64_t work_ns = now_ns.size() * kParts * part_ns;
  for (const int64_t end_ns : now_ns) {
    EXPECT_LT(end_ns, work_ns);
    EXPECT_GT(end_ns, work_ns - int64_t(now_ns.size() * 32 * part_ns));
  }
}

TEST(HddTest, ReadAfterWriteAtTheHeadIsContiguous) {
  const auto model = NewDeviceModel(HddParameters());
  const int64_t written_ns = model->Submit(0, StreamWrite(kUnit));
  Request read = UserRead(120);
  read.address = kUnit;
  EXPECT_EQ(model->Submit(0, read), written_ns + 1000);
}

TEST(Raid0Test, ChunksGoRoundTheMembers) {
  const auto model = NewDeviceModel(Raid0Parameters());
  const int64_t one_ns = 12000000 + 34133;  // 4 KiB at 120 MB/s
  Request request = UserRead(4096);
  EXPECT_EQ(model->Submit(0, request), one_ns);
  request.address = 64 << 10;  // The other member is free
  EXPECT_EQ(model->Submit(0, request), one_ns);
  request.address = 256 << 10;  // The first member again
  EXPECT_EQ(model->Submit(0, request), 2 * one_ns);
  EXPECT_EQ(model->QueueNs(0), 2 * one_ns);
}

class MembersTest : public ::testing::TestWithParam<int> {
 protected:
  MembersTest() { parameters_.members = GetParam(); }

  static constexpr uint64_t kChunk = 64 << 10;
  const uint64_t members_ = GetParam();
  DeviceParameters parameters_ = Raid0Parameters();
};
INSTANTIATE_TEST_SUITE_P(OneToTen, MembersTest, ::testing::Range(1, 11));

// PCP's sub-tasks: the member with most of a request completes it.
TEST_P(MembersTest, HalfAMegabyteTakesTheTimeOfItsLargestPart) {
  const uint64_t length = 512 << 10, sector = 512;
  for (uint64_t chunk = 0; chunk < 2 * members_; chunk++) {
    for (const uint64_t offset : {uint64_t{0}, sector, kChunk - sector}) {
      const uint64_t begin = chunk * kChunk + offset;
      std::map<uint64_t, uint64_t> parts;
      for (uint64_t at = begin; at < begin + length; at += sector) {
        parts[at / kChunk % members_] += sector;
      }
      uint64_t largest = 0;
      for (const auto& [member, bytes] : parts) {
        largest = std::max(largest, bytes);
      }
      // As many chunks as can come together on one member.
      if (offset == 0) {
        EXPECT_EQ(largest, (8 + members_ - 1) / members_ * kChunk);
      }
      const auto model = NewDeviceModel(parameters_);
      Request request = UserRead(length);
      request.address = begin;
      EXPECT_NEAR(model->Submit(0, request) * 1e-9, 12e-3 + largest / 120e6,
                  1e-8);
    }
  }
}

// Readers on different members do not hold each other up; those on the same
// take turns.
TEST_P(MembersTest, ReadersSpreadOverTheMembers) {
  for (const int readers : {1, 2, 5, 10}) {
    const Pattern own_member = [this](int reader, int i, uint64_t) {
      return ((i * 7919 + reader * 104729) % 1000003 * members_ +
              reader % members_) *
             kChunk;
    };
    const uint64_t turns = (readers + members_ - 1) / members_;
    ExpectFormula(Elapsed(parameters_, readers, UserRead(kChunk), own_member),
                  turns * kRequestsEach * (12e-3 + kChunk / 120e6));
  }
}

// Requests that need every member are served one after the other.
TEST_P(MembersTest, ReadersOfWholeStripesShareEveryMember) {
  const uint64_t length = members_ * kChunk;
  const Pattern far_apart = [length](int reader, int i, uint64_t) {
    return (i * 7919 + reader * 104729) % 1000003 * length;
  };
  for (const int readers : {1, 2, 5}) {
    ExpectFormula(Elapsed(parameters_, readers, UserRead(length), far_apart),
                  readers * kRequestsEach * (12e-3 + kChunk / 120e6));
  }
}

}  // namespace
}  // namespace recompact
