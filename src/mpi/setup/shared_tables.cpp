#include "mpi/setup/shared_tables.hpp"

#include <cstdint>
#include <cstring>
#include <string_view>

#include "mpi/native/quiet.hpp"
#include "tune/day.hpp"
#include "tune/places.hpp"

namespace espalier::mpi {
namespace {

void put(std::vector<char>& bytes, std::string_view text) {
  const std::uint64_t size = text.size();
  const auto* const begin = reinterpret_cast<const char*>(&size);
  bytes.insert(bytes.end(), begin, begin + sizeof size);
  bytes.insert(bytes.end(), text.begin(), text.end());
}

std::string take(std::string_view& bytes) {
  std::uint64_t size = 0;
  std::memcpy(&size, bytes.data(), sizeof size);
  bytes.remove_prefix(sizeof size);
  std::string text(bytes.substr(0, size));
  bytes.remove_prefix(size);
  return text;
}

std::vector<char> pack(const WantedTables& wanted, const ReadTables& read) {
  std::vector<char> bytes;
  put(bytes, wanted.table);
  put(bytes, wanted.store);
  put(bytes, std::to_string(read.day));
  for (const auto& [path, text] : read.texts) {
    put(bytes, path);
    put(bytes, text);
  }
  return bytes;
}

}  // namespace

ReadTables read_wanted(const WantedTables& wanted) {
  ReadTables read;
  read.day = tune::probe_day();
  read.texts = tune::read_tables(tune::probe_table_files(wanted.table, wanted.store), read.remarks);
  return read;
}

ReadTables share_tables(MPI_Comm comm, int rank, const WantedTables& wanted) {
  ReadTables read;
  if (rank == 0) read = read_wanted(wanted);
  std::vector<char> bytes = rank == 0 ? pack(wanted, read) : std::vector<char>();
  std::vector<std::uint64_t> size{bytes.size()};
  broadcast_quietly(comm, size);
  bytes.resize(size.front());
  broadcast_quietly(comm, bytes);
  if (rank == 0) return read;
  std::string_view rest(bytes.data(), bytes.size());
  WantedTables others;
  others.table = take(rest);
  others.store = take(rest);
  const int day = std::stoi(take(rest));
  const bool want_the_same = others == wanted;
  if (!want_the_same) read = read_wanted(wanted);
  read.day = day;
  while (want_the_same && !rest.empty()) {
    std::string path = take(rest);
    read.texts.push_back({std::move(path), take(rest)});
  }
  return read;
}

}  // namespace espalier::mpi
