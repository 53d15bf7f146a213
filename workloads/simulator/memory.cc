// The system's calls that give memory, under their own names: counted, and told
// how much they gave as how much was asked for.  RocksDB charges its cache what
// malloc() gave, which hangs on what was free.
//
// The sanitizers have calls of their own.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "simulator/work.h"

extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void __libc_free(void* memory);
}

namespace recompact {
namespace {

// Lies before what is given.
struct alignas(std::max_align_t) Head {
  void* begin;  // Of what the system gave
  size_t size;
};

Head* HeadOf(void* memory) { return static_cast<Head*>(memory) - 1; }

// Of what the system gave, which holds a head, the place for "size" bytes.
void* Given(void* begin, size_t alignment, size_t size) {
  Count(Work::kAllocation);
  if (begin == nullptr) {
    errno = ENOMEM;
    return nullptr;
  }
  const auto place = reinterpret_cast<uintptr_t>(begin) + sizeof(Head);
  auto* const memory =
      reinterpret_cast<void*>((place + alignment - 1) & ~(alignment - 1));
  *HeadOf(memory) = {begin, size};
  return memory;
}

bool TooMuch(size_t size) { return size > PTRDIFF_MAX - 2 * sizeof(Head); }

void* Aligned(size_t alignment, size_t size) {
  alignment = std::max(alignment, alignof(Head));
  const bool too_much = TooMuch(size) || TooMuch(size + alignment);
  return Given(
      too_much ? nullptr : __libc_malloc(size + alignment + sizeof(Head)),
      alignment, size);
}

}  // namespace
}  // namespace recompact

using namespace recompact;  // NOLINT: what follows has the system's names

extern "C" {

void* malloc(size_t size) noexcept {
  return Given(TooMuch(size) ? nullptr : __libc_malloc(size + sizeof(Head)),
               alignof(Head), size);
}

void* calloc(size_t count, size_t size) noexcept {
  size_t all = 0;
  const bool too_much =
      __builtin_mul_overflow(count, size, &all) || TooMuch(all);
  return Given(too_much ? nullptr : __libc_calloc(1, all + sizeof(Head)),
               alignof(Head), all);
}

void free(void* memory) noexcept {
  if (memory != nullptr) __libc_free(HeadOf(memory)->begin);
}

void* realloc(void* memory, size_t size) noexcept {
  if (memory == nullptr) return malloc(size);
  if (size == 0) {
    free(memory);
    return nullptr;
  }
  void* const other = malloc(size);
  if (other == nullptr) return nullptr;
  std::memcpy(other, memory, std::min(size, HeadOf(memory)->size));
  free(memory);
  return other;
}

int posix_memalign(void** memory, size_t alignment, size_t size) noexcept {
  if (alignment % sizeof(void*) != 0 || alignment == 0 ||
      (alignment & (alignment - 1)) != 0) {
    return EINVAL;
  }
  void* const given = Aligned(alignment, size);
  if (given == nullptr) return ENOMEM;
  *memory = given;
  return 0;
}

void* aligned_alloc(size_t alignment, size_t size) noexcept {
  return Aligned(alignment, size);
}

void* memalign(size_t alignment, size_t size) noexcept {
  return Aligned(alignment, size);
}

void* valloc(size_t size) noexcept { return Aligned(4096, size); }

size_t malloc_usable_size(void* memory) noexcept {
  return memory == nullptr ? 0 : HeadOf(memory)->size;
}

}  // extern "C"

#endif
