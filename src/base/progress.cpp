#include "base/progress.hpp"

#include "base/error.hpp"

namespace espalier {

ProgressMeans parse_progress_means(std::string_view text) {
  if (text == "auto") return ProgressMeans::automatic;
  if (text == "calls") return ProgressMeans::calls;
  if (text == "memory") return ProgressMeans::memory;
  if (text == "thread") return ProgressMeans::thread;
  throw Error("write auto, calls, memory or thread");
}

}  // namespace espalier
