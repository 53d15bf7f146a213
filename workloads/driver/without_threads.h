#ifndef RECOMPACT_WORKLOADS_DRIVER_WITHOUT_THREADS_H_
#define RECOMPACT_WORKLOADS_DRIVER_WITHOUT_THREADS_H_

#include <pthread.h>

#include "gtest/gtest.h"

namespace recompact {

// While it lives the process gets no threads: none has room for its stack.
class WithoutThreads {
 public:
  WithoutThreads() {
    EXPECT_EQ(::pthread_getattr_default_np(&before_), 0);
    pthread_attr_t attributes = before_;
    EXPECT_EQ(::pthread_attr_setstacksize(&attributes, size_t{1} << 46), 0);
    EXPECT_EQ(::pthread_setattr_default_np(&attributes), 0);
  }
  ~WithoutThreads() { EXPECT_EQ(::pthread_setattr_default_np(&before_), 0); }

 private:
  pthread_attr_t before_;
};

}  // namespace recompact

#endif  // RECOMPACT_WORKLOADS_DRIVER_WITHOUT_THREADS_H_
