#include "base/waiting.hpp"

#include "base/error.hpp"

namespace espalier {

Waiting parse_waiting(std::string_view text) {
  if (text == "auto") return Waiting::automatic;
  if (text == "yield") return Waiting::yield;
  if (text == "spin") return Waiting::spin;
  if (text == "futex") return Waiting::futex;
  throw Error("write auto, spin, yield or futex");
}

}  // namespace espalier
