#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/files.hpp"
#include "fabric/dumps/lines.hpp"
#include "fabric/dumps/reader.hpp"

namespace espalier::fabric {
namespace {

std::unique_ptr<Reader> make_reader(Format format, Draft& draft, const std::string& file) {
  switch (format) {
    case Format::ibnetdiscover: return make_ibnetdiscover_reader(draft, file);
    case Format::opensm_subnet: return make_subnet_reader(draft, file);
    case Format::port_list: return make_port_list_reader(draft, file);
    case Format::link_info: return make_link_info_reader(draft, file);
    case Format::link_info_lines: return make_link_info_lines_reader(draft, file);
    case Format::slurm_yaml: return make_slurm_yaml_reader(draft, file);
    case Format::slurm_conf: return make_slurm_conf_reader(draft, file);
    case Format::tables:
    case Format::opensm_tables: return make_tables_reader(draft, file);
    case Format::opensm_routes: return make_opensm_routes_reader(draft, file);
    case Format::unknown:
    case Format::empty:
    case Format::compressed: break;
  }
  throw FabricError(Fault::unreadable, "no reader for this kind of file (" + std::string(name_of(format)) + ")", file);
}

// A job's own reading ends somewhere: the tables of the largest subnet that LIDs allow are some GB.
constexpr std::uint64_t kMostBytes = std::uint64_t{8} << 30;

// A regular file, read piece by piece.
class File {
 public:
  explicit File(const std::string& name) try : name_(name), number_(open_file(name)) {
  } catch (const Error&) {
    throw FabricError(Fault::unreadable, "cannot be opened", name);
  }
  ~File() { close(number_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  /// Lives until the buffer is used again; empty at the end.
  std::string_view read_some(std::vector<char>& buffer) {
    const ssize_t got = ::read(number_, buffer.data(), buffer.size());
    if (got < 0) throw FabricError(Fault::unreadable, "cannot be read", name_);
    return {buffer.data(), static_cast<std::size_t>(got)};
  }

 private:
  const std::string& name_;
  int number_;
};

bool is_slurm(Format format) { return format == Format::slurm_yaml || format == Format::slurm_conf; }
bool is_table(Format format) { return format >= Format::tables; }
bool is_wiring(Format format) { return format >= Format::ibnetdiscover && !is_table(format); }

bool has_any(const std::vector<Format>& formats, bool (*is_wanted)(Format)) {
  return std::any_of(formats.begin(), formats.end(), is_wanted);
}

}  // namespace

struct Loader::State {
  Draft draft;
  std::unique_ptr<Reader> reader;
  LineSplitter lines;
  bool has_wiring = false;
  bool has_slurm = false;
  std::string first_empty;
};

Loader::Loader() : state_(std::make_unique<State>()) {}
Loader::~Loader() = default;
Loader::Loader(Loader&&) noexcept = default;
Loader& Loader::operator=(Loader&&) noexcept = default;

void Loader::open(const std::string& name, Format format) {
  state_->reader = make_reader(format, state_->draft, name);
  state_->lines = is_slurm(format) ? LineSplitter(kLongestSlurmLine / 2) : LineSplitter();
  state_->has_wiring |= !is_table(format);
  state_->has_slurm |= is_slurm(format);
}

void Loader::feed(std::string_view bytes) {
  if (state_->reader == nullptr) throw FabricError(Fault::unreadable, "fed without an open file");
  state_->lines.feed(bytes,
                     [this](std::string_view line, std::uint64_t number) { state_->reader->take_line(line, number); });
}

void Loader::close() {
  if (state_->reader == nullptr) return;
  state_->reader->take_end(state_->lines.rest(), state_->lines.number());
  state_->reader.reset();
}

void Loader::note_empty(const std::string& name) {
  state_->draft.note(FindingKind::empty_file, name + " is empty");
  if (state_->first_empty.empty()) state_->first_empty = name;
}

Fabric Loader::finish() {
  close();
  if (!state_->has_wiring) {
    if (!state_->first_empty.empty()) throw FabricError(Fault::empty, "there is nothing in it", state_->first_empty);
    throw FabricError(Fault::no_wiring,
                      "no file says what is cabled to what: ibnetdiscover, opensm-subnet.lst, iblinkinfo or a Slurm "
                      "topology is needed");
  }
  return std::move(state_->draft).settle(state_->has_slurm ? Basis::tree : Basis::shortest);
}

Fabric load_folder(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code error, of_file;
  std::vector<std::string> files;
  // Links that lead nowhere, and files that are gone again, are no reason to read nothing.
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.is_regular_file(of_file)) files.push_back(entry.path().string());
  if (error) throw FabricError(Fault::unreadable, error.message(), folder);
  std::sort(files.begin(), files.end());

  std::vector<char> buffer(std::size_t{1} << 20);
  Loader loader;
  std::vector<Format> formats;
  for (const auto& file : files) {
    formats.push_back(detect_format(File(file).read_some(buffer).substr(0, kHeadBytes)));
    if (formats.back() == Format::empty) loader.note_empty(file);
  }
  // A packed file may be the wiring or the tables that are missing beside it: half would give other routes.
  const auto packed = std::find(formats.begin(), formats.end(), Format::compressed);
  if (packed != formats.end() && !(has_any(formats, is_wiring) && has_any(formats, is_table)))
    throw FabricError(Fault::unreadable, "packed files are not read here: unpack it, or ask espalier serve",
                      files[static_cast<std::size_t>(packed - formats.begin())]);
  std::uint64_t total = 0;
  for (const auto index : choose_files(formats)) {
    File file(files[index]);
    loader.open(files[index], formats[index]);
    for (auto piece = file.read_some(buffer); !piece.empty(); piece = file.read_some(buffer)) {
      total += piece.size();
      if (total > kMostBytes) throw FabricError(Fault::too_large, "these dumps have more than 8 GiB", files[index]);
      loader.feed(piece);
    }
    loader.close();
  }
  return loader.finish();
}

}  // namespace espalier::fabric
