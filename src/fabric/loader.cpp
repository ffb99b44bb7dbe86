#include <algorithm>
#include <filesystem>
#include <fstream>

#include "fabric/lines.hpp"
#include "fabric/reader.hpp"

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
  const auto read_some = [&](std::ifstream& in) {
    in.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    return std::string_view(buffer.data(), static_cast<std::size_t>(in.gcount()));
  };
  Loader loader;
  std::vector<Format> formats;
  for (const auto& file : files) {
    std::ifstream in(file, std::ios::binary);
    if (!in) throw FabricError(Fault::unreadable, "cannot be opened", file);
    formats.push_back(detect_format(read_some(in).substr(0, kHeadBytes)));
    if (formats.back() == Format::empty) loader.note_empty(file);
  }
  // A packed file may be the wiring or the tables that are missing beside it: half would give other routes.
  const auto packed = std::find(formats.begin(), formats.end(), Format::compressed);
  if (packed != formats.end() && !(has_any(formats, is_wiring) && has_any(formats, is_table)))
    throw FabricError(Fault::unreadable, "packed files are not read here: unpack it, or ask espalier serve",
                      files[static_cast<std::size_t>(packed - formats.begin())]);
  for (const auto index : choose_files(formats)) {
    std::ifstream in(files[index], std::ios::binary);
    loader.open(files[index], formats[index]);
    while (in) loader.feed(read_some(in));
    loader.close();
  }
  return loader.finish();
}

}  // namespace espalier::fabric
