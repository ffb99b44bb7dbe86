#include "choice/parse.hpp"

#include <algorithm>

#include "algorithms/catalogue.hpp"
#include "base/error.hpp"
#include "plan/knobs.hpp"

namespace espalier::choice {

plan::Choice parse_choice(plan::Operation operation, std::string_view text) {
  plan::Choice choice;
  const std::size_t comma = std::min(text.find(','), text.size());
  choice.between = algorithms::find_algorithm(operation, text.substr(0, comma)).between;
  for (std::size_t begin = comma + 1; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view item = text.substr(begin, end - begin);
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos) throw Error("'" + std::string(item) + "' is not a knob: write knob=value");
    plan::find_knob(item.substr(0, equals)).set(choice, item.substr(equals + 1));
    begin = end + 1;
  }
  return choice;
}

}  // namespace espalier::choice
