#include "driver/key_versions.h"

#include "gtest/gtest.h"

namespace recompact {
namespace {

TEST(KeyVersionsTest, AWriteIsPendingUntilItIsAcknowledged) {
  KeyVersions versions(10);
  EXPECT_EQ(versions.State(3).version, 0u);
  EXPECT_FALSE(versions.State(3).present);

  EXPECT_EQ(versions.BeginWrite(3, /*is_delete=*/false), 1u);
  KeyState state = versions.State(3);
  EXPECT_EQ(state.version, 1u);
  EXPECT_TRUE(state.present);
  EXPECT_TRUE(state.pending);
  EXPECT_FALSE(state.was_present);
  versions.EndWrite(3);
  EXPECT_FALSE(versions.State(3).pending);
  EXPECT_TRUE(versions.Present(3));

  EXPECT_EQ(versions.BeginWrite(3, /*is_delete=*/true), 2u);
  state = versions.State(3);
  EXPECT_FALSE(state.present);
  EXPECT_TRUE(state.pending);
  EXPECT_TRUE(state.was_present);
  versions.EndWrite(3);
  EXPECT_FALSE(versions.Present(3));

  EXPECT_EQ(versions.BeginWrite(3, /*is_delete=*/false), 3u);
  EXPECT_FALSE(versions.State(3).was_present);
  EXPECT_EQ(versions.Version(4), 0u);
}

TEST(KeyVersionsTest, TheLastUpdatesAreKeptInTheirOrder) {
  KeyVersions versions(10, /*recent=*/3);
  uint64_t key_number = 99;
  EXPECT_FALSE(versions.FindRecent(0, &key_number));
  for (const uint64_t key : {4, 7, 7, 2}) {
    versions.BeginWrite(key, /*is_delete=*/false);
    versions.EndWrite(key);
  }
  versions.BeginWrite(4, /*is_delete=*/true);  // Leaves nothing to read
  versions.EndWrite(4);
  versions.BeginWrite(9, /*is_delete=*/false);  // Is not acknowledged
  const uint64_t expected[] = {2, 7, 7};
  for (uint64_t rank = 0; rank < 3; rank++) {
    ASSERT_TRUE(versions.FindRecent(rank, &key_number));
    EXPECT_EQ(key_number, expected[rank]) << rank;
  }
  EXPECT_FALSE(versions.FindRecent(3, &key_number));  // No longer kept
}

TEST(KeyVersionsTest, OnlyUpdatesOfTheRangeAreCounted) {
  KeyVersions versions(10, /*recent=*/3, /*recent_keys=*/{4, 2});
  for (const uint64_t key : {4, 3, 5, 6, 0, 9}) {
    versions.BeginWrite(key, /*is_delete=*/false);
    versions.EndWrite(key);
  }
  uint64_t key_number;
  ASSERT_TRUE(versions.FindRecent(0, &key_number));
  EXPECT_EQ(key_number, 5u);
  ASSERT_TRUE(versions.FindRecent(1, &key_number));
  EXPECT_EQ(key_number, 4u);
  EXPECT_FALSE(versions.FindRecent(2, &key_number));
}

TEST(KeyVersionsTest, NoUpdatesAreKeptUnlessAskedFor) {
  KeyVersions versions(10);
  versions.BeginWrite(1, /*is_delete=*/false);
  versions.EndWrite(1);
  uint64_t key_number;
  EXPECT_FALSE(versions.FindRecent(0, &key_number));
}

}  // namespace
}  // namespace recompact
