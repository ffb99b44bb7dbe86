#pragma once
// The captures of tests/data/fabric, most of which are kept compressed.

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "fabric/delays.hpp"
#include "fabric/texts.hpp"

namespace espalier::fabric {

inline std::string read_capture(const std::filesystem::path& file) {
  if (file.extension() != ".xz") {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(("xz -dc '" + file.string() + "'").c_str(), "r"),
                                                             pclose);
  std::string text;
  char piece[4096];
  for (std::size_t bytes; pipe && (bytes = std::fread(piece, 1, sizeof piece, pipe.get())) > 0;)
    text.append(piece, bytes);
  return text;
}

/// All dumps of a capture's folder, in memory; what is none of a fabric's formats is passed over.
inline Fabric load_capture(const std::string& folder) {
  std::vector<std::string> texts;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) texts.push_back(read_capture(entry.path()));
  return load_texts(texts);
}

/// Between all hosts, by their first endpoints.
inline Delays delays_of(const Fabric& fabric) {
  std::vector<Endpoint> ends;
  for (const auto& host : fabric.hosts) ends.push_back(host.endpoints.front());
  return Delays::derive(fabric, ends);
}

}  // namespace espalier::fabric
