#pragma once
// What the readers of single formats have in common.

#include <limits>
#include <memory>
#include <string>
#include <string_view>

#include "fabric/dumps/cursor.hpp"
#include "fabric/dumps/draft.hpp"
#include "fabric/dumps/readers.hpp"

namespace espalier::fabric {

/// Slurm's lines are host lists and must be whole.
constexpr std::size_t kLongestSlurmLine = std::size_t{8} << 20;

class Reader {
 public:
  Reader(Draft& draft, std::string file) : draft_(draft), place_{std::move(file), 0} {}
  virtual ~Reader() = default;
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  void take_line(std::string_view line, std::uint64_t number) {
    place_.line = number;
    read(line);
  }
  /// The file is over. `rest` is what follows its last line end: a record that does not read as one was cut.
  void take_end(std::string_view rest, std::uint64_t number);

 protected:
  /// One line. What is none of the format's records is a message of some tool and passed over.
  virtual void read(std::string_view line) = 0;
  virtual void end() {}

  [[noreturn]] void fail(Fault fault, const std::string& what) const {
    throw FabricError(fault, what, place_.file, place_.line);
  }
  /// A record of ours does not go on as it should.
  [[noreturn]] void fail_record(std::string_view line) const;

  /// These throw bad_number when the number is missing or no such thing.
  PortNumber read_port(Cursor& at) const;
  /// 0 is read too: a port that no subnet manager has met.
  Lid read_lid(Cursor& at, int base = 10) const;
  std::uint8_t read_lmc(Cursor& at) const;
  /// Hexadecimal, with or without "0x".
  Guid read_guid(Cursor& at) const;

  Draft& draft_;
  Place place_;
};

std::unique_ptr<Reader> make_ibnetdiscover_reader(Draft& draft, const std::string& file);
std::unique_ptr<Reader> make_port_list_reader(Draft& draft, const std::string& file);
std::unique_ptr<Reader> make_subnet_reader(Draft& draft, const std::string& file);
std::unique_ptr<Reader> make_link_info_reader(Draft& draft, const std::string& file);
std::unique_ptr<Reader> make_link_info_lines_reader(Draft& draft, const std::string& file);
std::unique_ptr<Reader> make_slurm_conf_reader(Draft& draft, const std::string& file);
std::unique_ptr<Reader> make_slurm_yaml_reader(Draft& draft, const std::string& file);
std::unique_ptr<Reader> make_tables_reader(Draft& draft, const std::string& file);
std::unique_ptr<Reader> make_opensm_routes_reader(Draft& draft, const std::string& file);

}  // namespace espalier::fabric
