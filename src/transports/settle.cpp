#include "transports/settle.hpp"

#include <sys/mman.h>

namespace espalier::transports {
namespace {

// Headers older than Linux 5.14 do not name it.
#ifdef MADV_POPULATE_WRITE
constexpr int populate = MADV_POPULATE_WRITE;
#else
constexpr int populate = 23;
#endif

}  // namespace

// Touching a page that has been given back could end in SIGBUS when memory is short; populating says so instead. Asked
// once before, on pages that are there, it tells whether the kernel knows it.
bool settle_here(std::byte* begin, Bytes bytes) noexcept {
  if (madvise(begin, bytes, populate) != 0) return true;
  if (madvise(begin, bytes, MADV_REMOVE) != 0) return true;
  return madvise(begin, bytes, populate) == 0;
}

}  // namespace espalier::transports
