#pragma once
// What can be wrong with a plan, and where.

#include <cstdint>
#include <string>
#include <vector>

#include "plan/step.hpp"

namespace espalier::verify {

enum class Kind : std::uint8_t {
  shape,      ///< the plan as a whole: a program is missing, the root does not exist
  bounds,     ///< a step reaches outside its buffer
  peer,       ///< a rank or neighbour that does not exist, or that must not be reached this way
  slot,       ///< a message slot that is busy, idle, unknown, or still busy at the end
  flag,       ///< ticks that do not grow or do not fit; no `done` at the end
  input,      ///< the caller's input is written
  exposure,   ///< a neighbour's private buffer is reached that its program does not expose
  message,    ///< a send without its recv, or the other way round, or different sizes
  overlap,    ///< source and destination of one copy share bytes
  deadlock,   ///< nobody can go on
  race,       ///< two ranks use the same bytes, one of them writing, in no certain order
  busy,       ///< a rank uses a buffer that its own unfinished message uses
  undefined,  ///< bytes are read that nobody has written in this call
  data,       ///< the output holds the wrong bytes
  order,      ///< a rank may leave a barrier before another has entered it
};

/// One fault. `step` counts from 0; before_first stands for the beginning of the program, its length for the end.
struct Violation {
  static constexpr int before_first = -1;

  Kind kind = Kind::shape;
  Rank rank{};
  int step = before_first;
  int call = 1;  ///< in which of the verified calls it was first seen, counted from 1
  plan::Buffer buffer =
      plan::Buffer::input;  ///< whose bytes: this rank's, or for get, pull and push maybe its neighbour's
  Bytes first = 0;          ///< bytes [first, last) of the buffer; equal when the fault is not about bytes
  Bytes last = 0;
  std::string text;  ///< the whole story, for a person

  bool operator==(const Violation&) const = default;
};

const char* name(Kind kind);

/// "race at rank 3, step 7 of call 2, window [0, 4096): …".
std::string to_string(const Violation& violation);

/// Collects violations: each fault once, however many calls repeat it, and no more than a person will read.
class Report {
 public:
  static constexpr std::size_t limit = 100;

  void add(Violation violation);
  bool empty() const { return found_.empty(); }
  bool is_full() const { return found_.size() >= limit; }
  std::vector<Violation> take() && { return std::move(found_); }

 private:
  std::vector<Violation> found_;
};

}  // namespace espalier::verify
