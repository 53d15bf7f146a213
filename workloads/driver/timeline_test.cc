#include "driver/timeline.h"

#include <memory>

#include "driver/fake_clock.h"
#include "driver/store_leveldb.h"
#include "driver/test_directory.h"
#include "driver/without_threads.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace recompact {
namespace {

using ::testing::HasSubstr;

TEST(TimelineTest, NoThreadIsAnErrorAndItCanStartLater) {
  TestDirectory directory;
  FakeClock clock;
  DeviceEnv env(leveldb::Env::Default(), DeviceParameters(), 1,
                directory.path(), &clock);
  std::unique_ptr<Store> store;
  ASSERT_TRUE(
      OpenLevelDbStore(directory.path(), {}, "", "spec.json", &env, &store)
          .ok());
  Progress progress(1);
  Timeline timeline(store.get(), &env, &progress, 10);
  const std::string columns = timeline.csv();
  {
    const WithoutThreads without_threads;
    const Status status = timeline.Start("load");
    EXPECT_EQ(status.code(), ExitCode::kFailed);
    EXPECT_THAT(status.message(), HasSubstr("phase load: there is no thread"));
  }
  timeline.Stop();
  EXPECT_EQ(timeline.csv(), columns);
  ASSERT_TRUE(timeline.Start("run").ok());
  timeline.Stop();
  EXPECT_THAT(timeline.csv(), HasSubstr("\nrun,"));
}

}  // namespace
}  // namespace recompact
