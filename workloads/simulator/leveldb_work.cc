// Work inside LevelDB's library that no system call shows, counted where it is
// called: the linker leads these calls here (--wrap, see CMakeLists.txt).
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "leveldb/filter_policy.h"
#include "leveldb/slice.h"
#include "simulator/work.h"

namespace recompact {
namespace {

class CountedFilter : public leveldb::FilterPolicy {
 public:
  explicit CountedFilter(const leveldb::FilterPolicy* policy)
      : policy_(policy) {}

  const char* Name() const override { return policy_->Name(); }
  void CreateFilter(const leveldb::Slice* keys, int n,
                    std::string* filter) const override {
    policy_->CreateFilter(keys, n, filter);
  }
  bool KeyMayMatch(const leveldb::Slice& key,
                   const leveldb::Slice& filter) const override {
    Count(Work::kFilterCheck);
    return policy_->KeyMayMatch(key, filter);
  }

 private:
  const std::unique_ptr<const leveldb::FilterPolicy> policy_;
};

}  // namespace
}  // namespace recompact

using recompact::Count;
using recompact::Work;

extern "C" {

// leveldb::crc32c::Extend()
uint32_t __real__ZN7leveldb6crc32c6ExtendEjPKcm(uint32_t, const char*, size_t);
uint32_t __wrap__ZN7leveldb6crc32c6ExtendEjPKcm(uint32_t crc, const char* data,
                                                size_t size) {
  Count(Work::kChecksummedByte, size);
  return __real__ZN7leveldb6crc32c6ExtendEjPKcm(crc, data, size);
}

// leveldb::TableBuilder::Add()
void __real__ZN7leveldb12TableBuilder3AddERKNS_5SliceES3_(
    void*, const leveldb::Slice&, const leveldb::Slice&);
void __wrap__ZN7leveldb12TableBuilder3AddERKNS_5SliceES3_(
    void* builder, const leveldb::Slice& key, const leveldb::Slice& value) {
  Count(Work::kBuiltEntry);
  __real__ZN7leveldb12TableBuilder3AddERKNS_5SliceES3_(builder, key, value);
}

// leveldb::NewBloomFilterPolicy()
const leveldb::FilterPolicy* __real__ZN7leveldb20NewBloomFilterPolicyEi(int);
const leveldb::FilterPolicy* __wrap__ZN7leveldb20NewBloomFilterPolicyEi(
    int bits_per_key) {
  return new recompact::CountedFilter(
      __real__ZN7leveldb20NewBloomFilterPolicyEi(bits_per_key));
}

}  // extern "C"
