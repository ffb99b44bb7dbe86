#include "plan/choice.hpp"

#include "base/bytes.hpp"

namespace espalier::plan {

std::string to_string(const Choice& choice) {
  std::string text = name(choice.between);
  if (choice.between == Between::knomial) text += ",radix=" + std::to_string(choice.radix);
  if (choice.segment > 0) text += ",segment=" + format_bytes(choice.segment);
  text += std::string(",within=") + name(choice.within);
  if (choice.within == Within::cells)
    text += ",cell=" + format_bytes(choice.cell) + ",cells=" + std::to_string(choice.cells);
  return text;
}

}  // namespace espalier::plan
