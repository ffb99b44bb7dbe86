#pragma once
// From the text of a table's file to values. The only place that knows JSON.

#include <string_view>
#include <vector>

#include "tune/table.hpp"

namespace espalier::tune {

struct Contents {
  Signature signature;
  std::vector<Row> rows;
  cost::Parameters parameters;
  Transport transport = Transport::mpi;
  bool has_model = false;   ///< "model" says what things cost
  bool is_learned = false;  ///< "learned" is true
};

/// Reads and checks a whole file. Pure. Members it does not know are passed over: they are for people and for reports.
/// Throws Error naming `name`, the row and the member, and what was expected there.
Contents read_contents(std::string_view text, std::string_view name);

}  // namespace espalier::tune
