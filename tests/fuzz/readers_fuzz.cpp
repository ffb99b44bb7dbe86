// Feeds the readers of network dumps: whatever the bytes, there is a fabric or a FabricError, and a fabric answers.
// An input is one or more files; a line "%%" stands between two.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "fabric/delays.hpp"
#include "fabric/dumps/readers.hpp"
#include "fabric/routes.hpp"

namespace {

using namespace espalier::fabric;

constexpr std::string_view kBetween = "%%\n";
constexpr std::size_t kMostAsked = 12;

std::vector<std::string_view> split_files(std::string_view input) {
  std::vector<std::string_view> files;
  for (auto at = input.find(kBetween); at != std::string_view::npos; at = input.find(kBetween)) {
    files.push_back(input.substr(0, at));
    input.remove_prefix(at + kBetween.size());
  }
  files.push_back(input);
  return files;
}

Fabric load(std::string_view input) {
  const auto files = split_files(input);
  std::vector<Format> formats;
  for (const auto file : files) formats.push_back(detect_format(file.substr(0, kHeadBytes)));
  Loader loader;
  for (const auto index : choose_files(formats)) {
    loader.open("input", formats[index]);
    // In two pieces: where one ends must not matter.
    loader.feed(files[index].substr(0, files[index].size() / 2));
    loader.feed(files[index].substr(files[index].size() / 2));
    loader.close();
  }
  return loader.finish();
}

void ask(const Fabric& fabric) {
  std::vector<Endpoint> ends;
  for (const auto& host : fabric.hosts)
    if (ends.size() < kMostAsked) ends.push_back(fabric.find_endpoint(host.name));
  const auto delays = Delays::derive(fabric, ends);
  for (std::size_t from = 0; from < ends.size(); ++from) {
    for (std::size_t to = 0; to < ends.size(); ++to) {
      const auto route = trace_route(fabric, ends[from], ends[to]);
      explain(fabric, route);
      format_hops(fabric, route);
      // Two ways to the same answer: a walk, and the columns.
      if (fabric.basis == Basis::tables && route.links() != delays.links(from, to)) __builtin_trap();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  try {
    ask(load({reinterpret_cast<const char*>(bytes), size}));
  } catch (const FabricError&) {
    // Refused, by name.
  }
  return 0;
}
