#include "tune/signature.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

#include "base/files.hpp"
#include "base/text.hpp"

namespace espalier::tune {
namespace {

std::string single_blanks(std::string_view text) {
  std::string line;
  for (const std::string_view word : split_words(text)) line.append(line.empty() ? "" : " ").append(word);
  return line;
}

/// As the kernel names it ("model name" on x86, "Processor" or "CPU part" elsewhere); the same on all kernels.
std::string processor_model() {
  const std::string text = read_system_file("/proc/cpuinfo");
  for (const char* key : {"model name", "Processor", "cpu\t", "CPU part"}) {
    const std::size_t at = text.find(key);
    if (at == std::string::npos) continue;
    const std::size_t colon = text.find(':', at), end = std::min(text.find('\n', at), text.size());
    if (colon < end) return single_blanks(text.substr(colon + 1, end - colon - 1));
  }
  return "unknown processor";
}

/// The numbers named by a list as the kernel writes them: "0-3,8" are five; none when it cannot be read.
int count_list(const std::string& text) {
  int count = 0;
  for (const std::string_view part : split(text, ',')) {
    const std::vector<std::string_view> ends = split(part, '-');
    const auto first = parse_number<int>(ends.front()), last = parse_number<int>(ends.back());
    if (!first || !last) return 0;
    count += *last - *first + 1;
  }
  return count;
}

std::string counted(long count, const std::string& thing) {
  return count < 1 ? "" : ", " + std::to_string(count) + " " + thing + (count > 1 ? "s" : "");
}

/// Rounded up to two leading binary digits (1, 1.5, 2, 3, 4, 6, 8 … GiB): kernels keep different shares for themselves.
long memory_gib() {
  const double pages = static_cast<double>(sysconf(_SC_PHYS_PAGES));
  const double gib = pages * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 30);
  long rounded = 1;
  while (static_cast<double>(rounded) < gib)
    rounded = rounded % 3 == 0 ? rounded / 3 * 4 : std::max(rounded + 1, rounded * 3 / 2);
  return rounded;
}

/// Without the memory, which comes last.
std::string_view without_memory(std::string_view machine) {
  return machine.ends_with(" GiB") ? machine.substr(0, machine.rfind(',')) : machine;
}

/// "MPICH Version: 5", "Open MPI v5", "Intel(R) MPI Library 2021": up to the end of the first number.
std::string_view until_major(std::string_view mpi) {
  constexpr std::string_view digits = "0123456789";
  const std::size_t first = mpi.find_first_of(digits);
  return first == std::string_view::npos ? mpi : mpi.substr(0, mpi.find_first_not_of(digits, first));
}

}  // namespace

Fit derive_fit(const Signature& made_for, const Signature& here) {
  if (made_for == here) return Fit::exact;
  const bool is_like = without_memory(made_for.machine) == without_memory(here.machine) &&
                       until_major(made_for.mpi) == until_major(here.mpi);
  return is_like ? Fit::near : Fit::foreign;
}

std::string why_foreign(const Signature& made_for, const Signature& here) {
  if (derive_fit(made_for, here) != Fit::foreign) return "";
  if (without_memory(made_for.machine) != without_memory(here.machine))
    return "made for another machine (" + made_for.machine + "), this is " + here.machine;
  return "made for another MPI (" + made_for.mpi + "), this is " + here.mpi;
}

std::string shorten_version(std::string_view library_version) {
  return single_blanks(
      library_version.substr(0, std::min(library_version.find_first_of(",\n"), library_version.size())));
}

Signature probe_signature(std::string_view library_version) {
  // Online, not allowed: an affinity mask or a quota is a job's, not the machine's.
  return {processor_model() + counted(sysconf(_SC_NPROCESSORS_ONLN), "processor") +
              counted(count_list(read_first_line("/sys/devices/system/node/online")), "NUMA node") + ", " +
              std::to_string(memory_gib()) + " GiB",
          shorten_version(library_version)};
}

}  // namespace espalier::tune
