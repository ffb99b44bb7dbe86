#pragma once
// Dumps of a fabric, as the tools of InfiniBand and Slurm print them, into a Fabric. Files are told apart by what is in
// them, never by their names. Everything streams: memory goes with the fabric, not with the files.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/graph.hpp"

namespace espalier::fabric {

class Draft;
class Reader;

enum class Format : std::uint8_t {
  unknown,
  empty,
  compressed,       ///< gzip or xz; whoever opens the file unpacks it
  ibnetdiscover,    ///< plain, -f, -g
  opensm_subnet,    ///< opensm-subnet.lst
  port_list,        ///< ibnetdiscover -p
  link_info,        ///< iblinkinfo
  link_info_lines,  ///< iblinkinfo -l
  slurm_yaml,       ///< topology.yaml
  slurm_conf,       ///< topology.conf
  tables,           ///< dump_fts, dump_lfts, ibroute
  opensm_tables,    ///< opensm-lfts.dump
  opensm_routes,    ///< opensm.fdbs
};
std::string_view name_of(Format format);

/// How much of a file detect_format wants to see: messages of the tools may come first.
constexpr std::size_t kHeadBytes = 64 << 10;

/// What a file is, from its first kHeadBytes (or all of a smaller one).
Format detect_format(std::string_view head);

/// Which of a folder's files to read, in this order: all of the richest format that says what is cabled, then all of
/// the richest with forwarding tables. Indices into `formats`.
std::vector<std::size_t> choose_files(std::span<const Format> formats);

/// Builds a fabric out of files that someone else opens: open, feed…, close for each in the order of choose_files, then
/// finish. Every function may throw FabricError; the loader is then of no further use.
class Loader {
 public:
  Loader();
  ~Loader();
  Loader(Loader&&) noexcept;
  Loader& operator=(Loader&&) noexcept;

  /// Begins a file; `name` is for messages.
  void open(const std::string& name, Format format);
  void feed(std::string_view bytes);
  void close();
  /// A file that was passed over, so that the operator learns of it.
  void note_empty(const std::string& name);
  /// The fabric. The loader is spent.
  Fabric finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Reads every file of a folder that is of use; plain text only. Throws FabricError: unreadable, no_wiring and what the
/// readers throw.
Fabric load_folder(const std::string& folder);

}  // namespace espalier::fabric
