#include "driver/disk_arm.h"

#include "gtest/gtest.h"

namespace recompact {
namespace {

constexpr int64_t kMs = 1000000;

class DiskArmTest : public ::testing::Test {
 protected:
  static DeviceParameters Parameters() {
    DeviceParameters parameters;
    parameters.read_bandwidth_mb_s = 100;
    parameters.write_bandwidth_mb_s = 50;
    parameters.read_seek_ms = 6;
    parameters.write_seek_ms = 7;
    parameters.rotation_rpm = 7500;  // Half a rotation: 4 ms
    return parameters;
  }
  static Request At(Request::Direction direction, uint64_t address) {
    return {direction, Request::kUser, address, 1000, 0};
  }

  DiskArm arm_{Parameters()};
};

TEST_F(DiskArmTest, WhatBeginsAtTheHeadIsNotPositioned) {
  EXPECT_EQ(arm_.Serve(0, At(Request::kRead, 0), 1), 10 * kMs + 10000);
  EXPECT_EQ(arm_.Serve(20 * kMs, At(Request::kWrite, 1000), 1),
            20 * kMs + 20000);
  EXPECT_EQ(arm_.Serve(40 * kMs, At(Request::kWrite, 1000), 1),
            51 * kMs + 20000);
}

TEST_F(DiskArmTest, AShareIsPaidOfTheWaitAndOfThePositioning) {
  arm_.Serve(0, At(Request::kRead, 0), 1);
  EXPECT_EQ(arm_.QueueNs(0), 10 * kMs + 10000);
  EXPECT_EQ(arm_.Serve(0, At(Request::kRead, 5000), 0.25),
            (10 * kMs + 10000) / 4 + 10 * kMs / 4 + 10000);
  // All of it is work.
  EXPECT_EQ(arm_.free_ns(), 10 * kMs + 10000 + 10 * kMs / 4 + 10000);
  EXPECT_EQ(arm_.QueueNs(arm_.free_ns() + 1), 0);
}

}  // namespace
}  // namespace recompact
