#include "mpi/decide/selection.hpp"

#include "algorithms/catalogue.hpp"
#include "choice/parse.hpp"

namespace espalier::mpi {

Selection parse_selection(plan::Operation operation, std::string_view text) {
  if (text == "native") return {Selection::Kind::native};
  if (const auto dedicated = tune::parse_dedicated(operation, text)) return {Selection::Kind::tiny, {}, *dedicated};
  return {Selection::Kind::plan, choice::parse_choice(operation, text)};
}

}  // namespace espalier::mpi
