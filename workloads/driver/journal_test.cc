#include "driver/journal.h"

#include "gtest/gtest.h"

namespace recompact {
namespace {

TEST(JournalTest, ASyncDuringACommitWaitsForTheNextOne) {
  Journal journal(10);
  EXPECT_EQ(journal.Sync(100, 100), 110);
  // Three syncs while it runs share the commit that begins at its end.
  EXPECT_EQ(journal.Sync(103, 101), 120);
  EXPECT_EQ(journal.Sync(104, 104), 120);
  EXPECT_EQ(journal.Sync(109, 109), 120);
  // It covers what was written before it began, ...
  EXPECT_EQ(journal.Sync(115, 110), 120);
  // ... and what is written while it runs waits for a third.
  EXPECT_EQ(journal.Sync(116, 112), 130);
  EXPECT_EQ(journal.Sync(119, 119), 130);
}

TEST(JournalTest, ACommitBeginsAtOnceIfNoneRuns) {
  Journal journal(10);
  EXPECT_EQ(journal.Sync(3, 0), 13);
  EXPECT_EQ(journal.Sync(13, 13), 23);
  EXPECT_EQ(journal.Sync(50, 24), 60);
}

TEST(JournalTest, WhatACommitCoversWaitsForNoLaterOne) {
  Journal journal(10);
  EXPECT_EQ(journal.Sync(100, 100), 110);
  EXPECT_EQ(journal.Sync(105, 105), 120);  // Waits
  EXPECT_EQ(journal.Sync(106, 99), 110);   // In the one that runs
  EXPECT_EQ(journal.Sync(115, 115), 130);
  EXPECT_EQ(journal.Sync(116, 98), 110);   // Complete
  EXPECT_EQ(journal.Sync(116, 105), 120);  // Runs
  EXPECT_EQ(journal.Sync(200, 130), 210);
  EXPECT_LE(journal.Sync(201, 99), 201);
}

TEST(JournalTest, CommitsThatTakeNoTimeHoldNobodyUp) {
  Journal journal(0);
  for (const int64_t now : {0, 5, 5, 7}) EXPECT_EQ(journal.Sync(now, now), now);
}

}  // namespace
}  // namespace recompact
