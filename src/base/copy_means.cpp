#include "base/copy_means.hpp"

#include "base/error.hpp"

namespace espalier {

CopyMeans parse_copy_means(std::string_view text) {
  if (text == "auto" || text == "on" || text == "1") return CopyMeans::automatic;
  if (text == "xpmem") return CopyMeans::xpmem;
  if (text == "cma") return CopyMeans::cma;
  if (text == "off" || text == "0") return CopyMeans::none;
  throw Error("write auto, xpmem, cma or off");
}

}  // namespace espalier
