#include "driver/page_cache.h"

#include "gtest/gtest.h"

namespace recompact {
namespace {

constexpr uint64_t kPage = PageCache::kPageBytes;

TEST(PageCacheTest, HitsWhatItHolds) {
  PageCache cache(2 * kPage);
  EXPECT_FALSE(cache.Touch(1, 0));
  EXPECT_TRUE(cache.Touch(1, 0));
  EXPECT_FALSE(cache.Touch(2, 0));
  EXPECT_FALSE(cache.Touch(1, 1));  // Evicts page 0 of file 1
  EXPECT_FALSE(cache.Touch(1, 0));
  EXPECT_EQ(cache.size(), 2u);
}

TEST(PageCacheTest, EvictsTheLeastRecentlyUsed) {
  PageCache cache(3 * kPage);
  for (const uint64_t page : {0, 1, 2}) cache.Touch(1, page);
  cache.Touch(1, 0);
  cache.Touch(1, 3);  // Evicts page 1
  EXPECT_TRUE(cache.Touch(1, 0));
  EXPECT_TRUE(cache.Touch(1, 2));
  EXPECT_TRUE(cache.Touch(1, 3));
  EXPECT_FALSE(cache.Touch(1, 1));
}

TEST(PageCacheTest, DropsAFile) {
  PageCache cache(4 * kPage);
  cache.Touch(1, 0);
  cache.Touch(1, 1);
  cache.Touch(2, 0);
  cache.Drop(1, 100);
  EXPECT_EQ(cache.size(), 1u);
  EXPECT_TRUE(cache.Touch(2, 0));
  EXPECT_FALSE(cache.Touch(1, 1));
  // The places of dropped pages are used again.
  for (uint64_t page = 0; page < 100; page++) cache.Touch(3, page);
  EXPECT_EQ(cache.size(), 4u);
}

TEST(PageCacheTest, SmallerThanAPageHoldsNothing) {
  PageCache cache(kPage - 1);
  EXPECT_FALSE(cache.Touch(1, 0));
  EXPECT_FALSE(cache.Touch(1, 0));
}

}  // namespace
}  // namespace recompact
