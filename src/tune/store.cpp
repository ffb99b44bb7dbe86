#include "tune/store.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "tune/day.hpp"

namespace espalier::tune {
namespace {

const std::string unused = "the tuned table is not used: ";

/// "MPICH Version: 5.0.2": "mpich-version-5".
std::string slug_of(std::string_view mpi) {
  std::string slug;
  bool has_digit = false;
  for (const char letter : mpi) {
    const auto code = static_cast<unsigned char>(letter);
    if (has_digit && !std::isdigit(code)) break;
    has_digit = has_digit || std::isdigit(code) != 0;
    if (std::isalnum(code))
      slug += static_cast<char>(std::tolower(code));
    else if (!slug.empty() && slug.back() != '-')
      slug += '-';
  }
  return slug.substr(0, 40);
}

std::string stem_of(const Signature& signature) {
  char hash[17];
  std::snprintf(hash, sizeof hash, "%016llx",
                static_cast<unsigned long long>(hash_text(signature.machine + "\n" + signature.mpi)));
  return slug_of(signature.mpi) + "-" + hash;
}

template <class Number>
std::string range_text(const Range<Number>& range) {
  return "[" + std::to_string(range.first) + ", " + std::to_string(range.last) + "]";
}

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string row_text(const Row& row) {
  const Measured& it = row.measured;
  return std::string("{\"operation\": \"") + plan::name(row.operation) + "\"" +
         (row.uneven ? ", \"form\": \"uneven\"" : "") +
         (row.transport != Transport::mpi ? std::string(", \"transport\": \"") + name(row.transport) + "\"" : "") +
         ", \"nodes\": " + range_text(row.nodes) + ", \"ppn\": " + range_text(row.ppn) +
         ", \"bytes\": " + range_text(row.bytes) + ", \"selection\": " + json_string(row.selection) +
         ", \"measured\": {\"bytes\": " + std::to_string(it.bytes) + ", \"native_us\": " + number_text(it.native_us) +
         ", \"chosen_us\": " + number_text(it.chosen_us) + ", \"lowest_ratio\": " + number_text(it.lowest_ratio) +
         ", \"highest_ratio\": " + number_text(it.highest_ratio) + ", \"calls\": " + std::to_string(it.calls) + "}" +
         (row.day > 0
              ? ", \"learned\": {\"on\": \"" + format_day(row.day) + "\", \"jobs\": " + std::to_string(row.jobs) + "}"
              : "") +
         "}";
}

bool is_about_the_same(const Row& a, const Row& b) {
  return a.operation == b.operation && a.nodes == b.nodes && a.ppn == b.ppn && a.bytes == b.bytes &&
         a.uneven == b.uneven && a.transport == b.transport;
}

// A network may have been rebuilt since, a neighbour moved out; another release of the MPI may do better, or worse.
void doubt_rows(Table& table, Fit fit, int day) {
  constexpr int good_for_days = 30;
  table.doubt([&](const Row& row) { return fit != Fit::exact || day > row.day + good_for_days; });
}

std::vector<Row> date_rows(std::span<const Row> known, std::span<const Row> fresh, int day) {
  std::vector<Row> dated(fresh.begin(), fresh.end());
  for (Row& row : dated) {
    row.day = day;
    row.jobs = 1;
    for (const Row& before : known)
      if (is_about_the_same(before, row) && before.selection == row.selection) row.jobs = before.jobs + 1;
  }
  return dated;
}

std::string trouble_with(const std::string& path) { return "cannot write '" + path + "': " + std::strerror(errno); }

bool make_folders(const std::string& path) {
  for (std::size_t end = path.find('/', 1); end != std::string::npos; end = path.find('/', end + 1))
    mkdir(path.substr(0, end).c_str(), 0777);
  return mkdir(path.c_str(), 0777) == 0 || errno == EEXIST;
}

/// A file's, as long as it lives. Others wait in the constructor, for a few seconds at most.
class Lock {
 public:
  explicit Lock(const std::string& path) : file_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    constexpr int attempts = 50;
    for (int i = 0; file_ >= 0 && !is_held_ && i < attempts; ++i) {
      is_held_ = flock(file_, LOCK_EX | LOCK_NB) == 0;
      if (!is_held_ && errno != EWOULDBLOCK) break;
      if (!is_held_) usleep(100'000);
    }
  }
  ~Lock() {
    if (file_ >= 0) close(file_);
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  bool is_held() const { return is_held_; }

 private:
  int file_;
  bool is_held_ = false;
};

}  // namespace

std::vector<TableText> read_tables(std::span<const std::string> paths, std::vector<std::string>& remarks) {
  std::vector<TableText> texts;
  Bytes left = Table::most_bytes;
  for (const std::string& path : paths) try {
      texts.push_back({path, read_file(path, left)});
      left -= texts.back().text.size();
    } catch (const Error& error) {
      remarks.push_back(unused + error.what());
    }
  return texts;
}

Selected select_tables(std::span<const TableText> texts, const Signature& here, std::string_view named, int day) {
  std::vector<Table> exact, near;
  Selected selected;
  for (const auto& [path, text] : texts) try {
      Table table = Table::parse(text, path);
      const Fit fit = derive_fit(table.signature(), here);
      doubt_rows(table, fit, day);
      if (fit == Fit::foreign && path == named)
        selected.remarks.push_back(unused + path + ": " + why_foreign(table.signature(), here));
      if (fit == Fit::near && !table.is_learned())
        selected.remarks.push_back(path + " was made with " + table.signature().mpi + " on " +
                                   table.signature().machine + "; it is used all the same");
      if (fit != Fit::foreign) (fit == Fit::exact ? exact : near).push_back(std::move(table));
    } catch (const Error& error) {
      selected.remarks.push_back(unused + error.what());
    }
  for (auto* const tables : {&exact, &near})
    for (Table& table : *tables)
      if (selected.table)
        selected.table->append(table);
      else
        selected.table = std::move(table);
  return selected;
}

std::string learned_name(const Signature& signature) { return "learned-" + stem_of(signature) + ".json"; }
std::string tuned_name(const Signature& signature) { return "tuned-" + stem_of(signature) + ".json"; }

std::string format_learned(const Signature& signature, std::span<const Row> rows) {
  std::string text = "{\n  \"espalier_table\": " + std::to_string(Table::current_version) +
                     ",\n  \"machine\": " + json_string(signature.machine) +
                     ",\n  \"mpi\": " + json_string(signature.mpi) + ",\n  \"learned\": true,\n  \"rows\": [";
  const char* between = "\n    ";
  for (const Row& row : rows) text += std::exchange(between, ",\n    ") + row_text(row);
  return text + "\n  ]\n}\n";
}

std::vector<Row> merge_rows(std::vector<Row> known, std::span<const Row> fresh) {
  for (const Row& row : fresh) {
    const auto same =
        std::find_if(known.begin(), known.end(), [&](const Row& it) { return is_about_the_same(it, row); });
    if (same != known.end())
      *same = row;
    else
      known.push_back(row);
  }
  const auto key = [](const Row& row) {
    // The first that matches holds: what is said of uneven blocks alone comes before what is said of any.
    return std::tuple(row.operation, row.nodes.first, row.ppn.first, row.bytes.first, row.transport, !row.uneven);
  };
  std::stable_sort(known.begin(), known.end(), [&](const Row& a, const Row& b) { return key(a) < key(b); });
  return known;
}

std::string keep_learned(const std::string& folder, const Signature& signature, std::span<const Row> rows, int day) {
  const std::string path = folder + "/" + learned_name(signature);
  if (!make_folders(folder)) return trouble_with(folder);
  const Lock lock(folder + "/.lock");
  if (!lock.is_held()) return "cannot write '" + path + "': other jobs hold " + folder + "/.lock";
  std::vector<Row> known;
  if (access(path.c_str(), F_OK) == 0) try {
      known = Table::load(path).rows();
    } catch (const Error& error) {
      return std::string(error.what()) + "; remove it: espalier table forget";
    }
  const std::vector<Row> dated = date_rows(known, rows, day);
  return replace_locked_file(path, format_learned(signature, merge_rows(std::move(known), dated)));
}

}  // namespace espalier::tune
