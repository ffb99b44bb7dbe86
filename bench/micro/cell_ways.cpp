// What it takes to pass a cell from one core to another and to write it again, in each of the ways that
// execute/closeness.hpp chooses from: docs/adr/0017.
//
//   build/release/bench/bench_cell_ways [BYTES] [CPU CPU]
//   build/release/bench/bench_cell_ways 64K 0 1
//
// Two threads on two processors; two cells in turn, each written, then read, then acknowledged. Prints the round trip
// of a flag before and after, which says how far apart the processors are, and medians in microseconds.

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "execute/copy.hpp"
#include "timing.hpp"

namespace {

using espalier::Bytes;
namespace execute = espalier::execute;

struct alignas(128) Flag {
  std::atomic<std::uint64_t> value{0};
  void raise(std::uint64_t to) { value.store(to, std::memory_order_release); }
  void await(std::uint64_t wanted) const {
    while (value.load(std::memory_order_acquire) < wanted) {
    }
  }
};

void pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  if (pthread_setaffinity_np(pthread_self(), sizeof set, &set) != 0) {
    std::fprintf(stderr, "bench_cell_ways: processor %d is not there for us; name two of: taskset -p $$\n", cpu);
    std::exit(2);
  }
}

constexpr int times = 4000;

struct Result {
  double written = 0, read = 0;
};

/// Hands cells of so many bytes from `first` to `second`, one after the other.
Result pass(const execute::Way& way, Bytes bytes, int first, int second) {
  std::vector<std::byte> cells[2], source(bytes), target(bytes);
  for (auto& cell : cells) cell.resize(bytes);
  std::vector<double> writes, reads;
  Flag is_written, is_read;
  std::thread reader([&] {
    pin(second);
    for (std::uint64_t i = 1; i <= times; ++i) {
      std::byte* const cell = cells[i % 2].data();
      is_written.await(i);
      reads.push_back(espalier::microseconds([&] {
        if (way.is_taken)
          execute::copy_taking_over(target.data(), cell, bytes);
        else
          execute::copy_bytes(target.data(), cell, bytes);
      }));
      is_read.raise(i);
    }
  });
  std::thread writer([&] {
    pin(first);
    execute::Closeness unused;
    for (std::uint64_t i = 1; i <= times; ++i) {
      std::byte* const cell = cells[i % 2].data();
      writes.push_back(
          espalier::microseconds([&] { execute::copy_for_reader(cell, source.data(), bytes, way, unused); }));
      is_written.raise(i);
      is_read.await(i);
    }
  });
  writer.join();
  reader.join();
  return {espalier::median(writes), espalier::median(reads)};
}

double round_trip_ns(int first, int second) {
  Flag there, back;
  std::thread partner([&] {
    pin(second);
    for (std::uint64_t i = 1; i <= times; ++i) {
      there.await(i);
      back.raise(i);
    }
  });
  double us = 0;
  std::thread([&] {
    pin(first);
    us = espalier::microseconds([&] {
      for (std::uint64_t i = 1; i <= times; ++i) {
        there.raise(i);
        back.await(i);
      }
    });
  }).join();
  partner.join();
  return us * 1000 / times;
}

void compare_ways(Bytes bytes, int first, int second) {
  const std::pair<const char*, execute::Way> ways[] = {
      {"left with the reader", {}}, {"taken over", {false, true}}, {"past the caches", {true}}};
  for (const auto& [name, way] : ways) {
    const double before = round_trip_ns(first, second);
    const Result result = pass(way, bytes, first, second);
    std::printf("%-22s written %7.2f  read %7.2f us   (%.0f and %.0f ns apart)\n", name, result.written, result.read,
                before, round_trip_ns(first, second));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 1 && argc != 2 && argc != 4) {
    std::fprintf(stderr, "usage: bench_cell_ways [BYTES] [CPU CPU]\n");
    return 2;
  }
  try {
    const Bytes bytes = argc > 1 ? espalier::parse_bytes(argv[1]) : 16 << 10;
    compare_ways(bytes, argc > 3 ? std::atoi(argv[2]) : 0, argc > 3 ? std::atoi(argv[3]) : 1);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_cell_ways: %s\n", error.what());
    return 2;
  }
}
