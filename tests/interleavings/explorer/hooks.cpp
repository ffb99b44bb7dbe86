// Where code compiled with -fsanitize=thread calls out: answers of the exploration under way, and none of
// ThreadSanitizer's, which is not linked. What the compiler calls is the interface of compiler-rt's
// tsan_interface.h and tsan_interface_atomic.h. System calls and the C library come in by ld's --wrap (CMakeLists.txt).

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>

#include <chrono>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <new>

#include "explorer/engine.hpp"

using espalier::interleavings::Engine;

namespace {

// Of what no exploration looks at, all is done by one thread: nothing need be atomic there.

/// The exploration, if a rank of it accesses memory that is looked at.
Engine* engine_of(const volatile void* address) {
  Engine* const engine = Engine::active();
  return engine != nullptr && engine->has_rank() && engine->owns(const_cast<const void*>(address)) ? engine : nullptr;
}

void touch(const void* address, std::size_t bytes, bool is_write) {
  Engine* const engine = engine_of(address);
  if (engine == nullptr) return;
  const Engine::Pause pause;
  engine->touch(address, bytes, is_write);
}

template <class Word>
std::byte* bytes_of(volatile Word* address) {
  return reinterpret_cast<std::byte*>(const_cast<Word*>(address));
}

template <class Word>
Word load(const volatile Word* address, int order) {
  Engine* const engine = engine_of(address);
  if (engine == nullptr) return *address;
  const Engine::Pause pause;
  return static_cast<Word>(engine->load(bytes_of(const_cast<volatile Word*>(address)), sizeof(Word), order));
}
template <class Word>
void store(volatile Word* address, Word value, int order) {
  Engine* const engine = engine_of(address);
  if (engine == nullptr) {
    *address = value;
    return;
  }
  const Engine::Pause pause;
  engine->store(bytes_of(address), sizeof(Word), value, order);
}
template <class Word, class Change>
Word change(volatile Word* address, int order, Change change) {
  Engine* const engine = engine_of(address);
  if (engine == nullptr) {
    const Word found = *address;
    *address = change(found);
    return found;
  }
  const Engine::Pause pause;
  return static_cast<Word>(engine->change(bytes_of(address), sizeof(Word), order, [&](std::uint64_t found) {
    return std::uint64_t{change(static_cast<Word>(found))};
  }));
}
template <class Word>
bool exchange_if(volatile Word* address, Word* expected, Word value, int order, int order_of_failure) {
  Engine* const engine = engine_of(address);
  if (engine == nullptr) {
    if (*address == *expected) return *address = value, true;
    *expected = *address;
    return false;
  }
  const Engine::Pause pause;
  std::uint64_t found = *expected;
  const bool succeeds = engine->exchange_if(bytes_of(address), sizeof(Word), found, value, order, order_of_failure);
  *expected = static_cast<Word>(found);
  return succeeds;
}

}  // namespace

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void** address, void*) { touch(address, sizeof *address, true); }
void __tsan_vptr_read(void** address) { touch(address, sizeof *address, false); }
void __tsan_read_range(void* address, std::size_t bytes) { touch(address, bytes, false); }
void __tsan_write_range(void* address, std::size_t bytes) { touch(address, bytes, true); }

#define ESPALIER_PLAIN(BYTES)                                                        \
  void __tsan_read##BYTES(void* address) { touch(address, BYTES, false); }           \
  void __tsan_write##BYTES(void* address) { touch(address, BYTES, true); }           \
  void __tsan_unaligned_read##BYTES(void* address) { touch(address, BYTES, false); } \
  void __tsan_unaligned_write##BYTES(void* address) { touch(address, BYTES, true); }
ESPALIER_PLAIN(1)
ESPALIER_PLAIN(2)
ESPALIER_PLAIN(4)
ESPALIER_PLAIN(8)
ESPALIER_PLAIN(16)
#undef ESPALIER_PLAIN

// Code that is explored uses none.
void __tsan_atomic_thread_fence(int) { std::abort(); }
void __tsan_atomic_signal_fence(int) {}

#define ESPALIER_CHANGE(BITS, WORD, NAME, RESULT)                                                           \
  WORD __tsan_atomic##BITS##_##NAME(volatile WORD* address, WORD by, int order) {                           \
    return change(address, order, [by]([[maybe_unused]] WORD found) { return static_cast<WORD>(RESULT); }); \
  }
#define ESPALIER_ATOMIC(BITS, WORD)                                                                                 \
  WORD __tsan_atomic##BITS##_load(const volatile WORD* address, int order) { return load(address, order); }         \
  void __tsan_atomic##BITS##_store(volatile WORD* address, WORD value, int order) { store(address, value, order); } \
  ESPALIER_CHANGE(BITS, WORD, exchange, by)                                                                         \
  ESPALIER_CHANGE(BITS, WORD, fetch_add, found + by)                                                                \
  ESPALIER_CHANGE(BITS, WORD, fetch_sub, found - by)                                                                \
  ESPALIER_CHANGE(BITS, WORD, fetch_and, found& by)                                                                 \
  ESPALIER_CHANGE(BITS, WORD, fetch_or, found | by)                                                                 \
  ESPALIER_CHANGE(BITS, WORD, fetch_xor, found ^ by)                                                                \
  int __tsan_atomic##BITS##_compare_exchange_strong(volatile WORD* address, WORD* expected, WORD value, int order,  \
                                                    int order_of_failure) {                                         \
    return exchange_if(address, expected, value, order, order_of_failure);                                          \
  }                                                                                                                 \
  int __tsan_atomic##BITS##_compare_exchange_weak(volatile WORD* address, WORD* expected, WORD value, int order,    \
                                                  int order_of_failure) {                                           \
    return exchange_if(address, expected, value, order, order_of_failure);                                          \
  }
ESPALIER_ATOMIC(8, std::uint8_t)
ESPALIER_ATOMIC(16, std::uint16_t)
ESPALIER_ATOMIC(32, std::uint32_t)
ESPALIER_ATOMIC(64, std::uint64_t)
#undef ESPALIER_ATOMIC
#undef ESPALIER_CHANGE

// ---- the C library and the system
// ------------------------------------------------------------------------------------

void* __real_memcpy(void*, const void*, std::size_t);
void* __real_memmove(void*, const void*, std::size_t);
void* __real_memset(void*, int, std::size_t);
int __real_sched_yield();
int __real_pthread_mutex_lock(pthread_mutex_t*);
int __real_pthread_mutex_unlock(pthread_mutex_t*);
long __real_syscall(long, ...);

void* __wrap_memcpy(void* into, const void* from, std::size_t bytes) {
  touch(from, bytes, false);
  touch(into, bytes, true);
  return __real_memcpy(into, from, bytes);
}
void* __wrap_memmove(void* into, const void* from, std::size_t bytes) {
  touch(from, bytes, false);
  touch(into, bytes, true);
  return __real_memmove(into, from, bytes);
}
void* __wrap_memset(void* into, int value, std::size_t bytes) {
  touch(into, bytes, true);
  return __real_memset(into, value, bytes);
}

/// What a rank does that has looked in vain.
int __wrap_sched_yield() {
  Engine* const engine = Engine::active();
  if (engine == nullptr || !engine->has_rank()) return __real_sched_yield();
  const Engine::Pause pause;
  engine->pause();
  return 0;
}

int __wrap_pthread_mutex_lock(pthread_mutex_t* mutex) {
  Engine* const engine = engine_of(mutex);
  if (engine == nullptr) return __real_pthread_mutex_lock(mutex);
  const Engine::Pause pause;
  engine->lock(reinterpret_cast<std::byte*>(mutex));
  return 0;
}
int __wrap_pthread_mutex_unlock(pthread_mutex_t* mutex) {
  Engine* const engine = engine_of(mutex);
  if (engine == nullptr) return __real_pthread_mutex_unlock(mutex);
  const Engine::Pause pause;
  engine->unlock(reinterpret_cast<std::byte*>(mutex));
  return 0;
}

/// futex(2), without its timeout: a rank that nobody wakes sleeps for good.
long __wrap_syscall(long number, ...) {
  va_list arguments;
  va_start(arguments, number);
  long a[6];
  for (long& it : a) it = va_arg(arguments, long);
  va_end(arguments);
  auto* const word = reinterpret_cast<std::byte*>(a[0]);
  Engine* const engine = number == SYS_futex ? engine_of(word) : nullptr;
  if (engine == nullptr) return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  const Engine::Pause pause;
  if (a[1] == FUTEX_WAIT)
    engine->sleep(word, static_cast<std::uint32_t>(a[2]));
  else
    engine->wake(word);
  return 0;
}

/// std::chrono::steady_clock::now(): time stands still, or executions would not repeat.
std::chrono::steady_clock::time_point __real__ZNSt6chrono3_V212steady_clock3nowEv();
std::chrono::steady_clock::time_point __wrap__ZNSt6chrono3_V212steady_clock3nowEv() {
  if (Engine::active() != nullptr) return {};
  return __real__ZNSt6chrono3_V212steady_clock3nowEv();
}

}  // extern "C"

// ---- what ranks allocate lies where it is looked at
// ------------------------------------------------------------------

namespace {

void* allocate(std::size_t bytes, std::size_t alignment) {
  if (Engine* const engine = Engine::active()) return engine->allocate(bytes, alignment);
  void* const memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void release(void* memory) {
  if (!Engine::owns(memory)) std::free(memory);
}

}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes, __STDCPP_DEFAULT_NEW_ALIGNMENT__); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
