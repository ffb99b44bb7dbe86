#include "machine/cpu_set.hpp"

#include <sched.h>

#include <algorithm>
#include <bit>
#include <charconv>

#include "base/error.hpp"

namespace espalier::machine {
namespace {

constexpr int word_bits = 64;

std::size_t word_of(int cpu) { return static_cast<std::size_t>(cpu / word_bits); }
std::uint64_t bit_of(int cpu) { return std::uint64_t{1} << (cpu % word_bits); }

// Takes a number off the front of `text`; -1 when there is none or it is too large.
int take_number(std::string_view& text) {
  int number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number > CpuSet::largest) return -1;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

}  // namespace

CpuSet CpuSet::parse(std::string_view text) {
  const auto wrong = [&] { return Error("\"" + std::string(text) + "\" is not a list of processors such as 0-3,8"); };
  CpuSet set;
  std::string_view rest = text.substr(0, text.find_last_not_of(" \n") + 1);
  while (!rest.empty()) {
    const int first = take_number(rest);
    int last = first;
    if (rest.starts_with('-')) {
      rest.remove_prefix(1);
      last = take_number(rest);
    }
    if (first < 0 || last < first) throw wrong();
    set.add(range(first, last - first + 1));
    if (rest.empty()) break;
    if (rest.front() != ',' || rest.size() == 1) throw wrong();
    rest.remove_prefix(1);
  }
  return set;
}

CpuSet CpuSet::range(int first, int count) {
  CpuSet set;
  for (int cpu = first; cpu < first + count; ++cpu) set.add(cpu);
  return set;
}

CpuSet CpuSet::probe_binding() {
  CpuSet set;
  // The kernel wants room for all the processors it was built for; cpu_set_t holds the first 1024 only.
  cpu_set_t* mask = CPU_ALLOC(largest + 1);
  const std::size_t bytes = CPU_ALLOC_SIZE(largest + 1);
  CPU_ZERO_S(bytes, mask);
  if (sched_getaffinity(0, bytes, mask) == 0)
    for (int cpu = 0; cpu <= largest; ++cpu)
      if (CPU_ISSET_S(static_cast<std::size_t>(cpu), bytes, mask)) set.add(cpu);
  CPU_FREE(mask);
  return set;
}

void CpuSet::add(int cpu) {
  words_.resize(std::max(words_.size(), word_of(cpu) + 1));
  words_[word_of(cpu)] |= bit_of(cpu);
}

void CpuSet::add(const CpuSet& other) {
  words_.resize(std::max(words_.size(), other.words_.size()));
  for (std::size_t w = 0; w < other.words_.size(); ++w) words_[w] |= other.words_[w];
}

int CpuSet::count() const {
  int count = 0;
  for (const std::uint64_t word : words_) count += std::popcount(word);
  return count;
}

bool CpuSet::contains(int cpu) const { return word_of(cpu) < words_.size() && (words_[word_of(cpu)] & bit_of(cpu)); }

bool CpuSet::intersects(const CpuSet& other) const {
  for (std::size_t w = 0; w < std::min(words_.size(), other.words_.size()); ++w)
    if (words_[w] & other.words_[w]) return true;
  return false;
}

bool CpuSet::is_within(const CpuSet& other) const {
  for (std::size_t w = 0; w < words_.size(); ++w)
    if (words_[w] & ~(w < other.words_.size() ? other.words_[w] : 0)) return false;
  return true;
}

std::vector<int> CpuSet::list() const {
  std::vector<int> cpus;
  for (int cpu = 0; word_of(cpu) < words_.size(); ++cpu)
    if (contains(cpu)) cpus.push_back(cpu);
  return cpus;
}

std::string CpuSet::text() const {
  std::string text;
  const int end = static_cast<int>(words_.size()) * word_bits;
  for (int first = 0; first < end; ++first) {
    if (!contains(first)) continue;
    int last = first;
    while (contains(last + 1)) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(first);
    if (last > first) text += '-' + std::to_string(last);
    first = last;
  }
  return text;
}

}  // namespace espalier::machine
