#include "mpi/observe/members.hpp"

namespace espalier::mpi {
namespace {

/// How many ranks from `first` on make one word: three or more of one step, or a single one. Steps go up.
std::size_t length_of_run(std::span<const int> members, std::size_t first) {
  if (first + 1 >= members.size() || members[first + 1] <= members[first]) return 1;
  const int step = members[first + 1] - members[first];
  std::size_t next = first + 2;
  while (next < members.size() && members[next] - members[next - 1] == step) ++next;
  return next - first > 2 || step == 1 ? next - first : 1;
}

std::string word(std::span<const int> run) {
  std::string text = std::to_string(run.front());
  if (run.size() == 1) return text;
  text += "-" + std::to_string(run.back());
  const int step = run[1] - run[0];
  return step == 1 ? text : text + ":" + std::to_string(step);
}

}  // namespace

std::string describe_members(std::span<const int> members) {
  std::string text;
  for (std::size_t first = 0; first < members.size();) {
    const std::size_t length = length_of_run(members, first);
    text += (first == 0 ? "" : ",") + word(members.subspan(first, length));
    if (text.size() > most_members_text) return {};
    first += length;
  }
  return text;
}

}  // namespace espalier::mpi
