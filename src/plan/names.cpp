// The one spelling of every enumerator, for people and for settings.

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "plan/choice.hpp"
#include "plan/problem.hpp"
#include "plan/step.hpp"

namespace espalier::plan {

const char* name(Op op) {
  static constexpr const char* names[] = {"send", "recv", "finish", "put",       "get",  "pull",
                                          "push", "post", "await",  "await_all", "copy", "reduce"};
  return names[static_cast<int>(op)];
}

const char* name(Buffer buffer) {
  static constexpr const char* names[] = {"input", "output", "scratch", "window"};
  return names[static_cast<int>(buffer)];
}

const char* name(Flag flag) {
  static constexpr const char* names[] = {"ready", "taken", "release", "done"};
  return names[static_cast<int>(flag)];
}

const char* name(Operation operation) {
  static constexpr const char* names[] = {"broadcast", "scatter",        "gather", "allgather", "alltoall", "reduce",
                                          "allreduce", "reduce_scatter", "scan",   "exscan",    "barrier"};
  return names[static_cast<int>(operation)];
}

const char* name(Within within) {
  static constexpr const char* names[] = {"cells", "single_copy"};
  return names[static_cast<int>(within)];
}

const char* name(Between between) {
  static constexpr const char* names[] = {"knomial",
                                          "chain",
                                          "binary",
                                          "flat",
                                          "scatter_allgather",
                                          "pairwise",
                                          "ring",
                                          "recursive_doubling",
                                          "rabenseifner",
                                          "bruck",
                                          "dissemination",
                                          "gather_reduce",
                                          "single_group_ring",
                                          "single_group_direct",
                                          "multi_group",
                                          "multi_group_lean",
                                          "gather_based"};
  return names[static_cast<int>(between)];
}

const char* name(Exchange exchange) {
  static constexpr const char* names[] = {"direct", "ring", "bruck", "recursive_doubling"};
  return names[static_cast<int>(exchange)];
}

const char* name(Staging staging) {
  static constexpr const char* names[] = {"auto", "copy", "zero_copy"};
  return names[static_cast<int>(staging)];
}

const char* name(Leaders leaders) {
  static constexpr const char* names[] = {"natural", "near", "spread"};
  return names[static_cast<int>(leaders)];
}

const char* name(Order order) {
  static constexpr const char* names[] = {"auto", "natural", "breadth", "depth", "bine"};
  return names[static_cast<int>(order)];
}

const char* name(Stores stores) {
  static constexpr const char* names[] = {"cached", "streaming"};
  return names[static_cast<int>(stores)];
}

Operation parse_operation(std::string_view text) {
  if (text == "bcast") return Operation::broadcast;
  if (text == "reduce_scatter_block") return Operation::reduce_scatter;
  std::string known;
  for (int i = 0; i < operation_count; ++i) {
    const char* candidate = name(static_cast<Operation>(i));
    if (text == candidate) return static_cast<Operation>(i);
    known += (i > 0 ? ", " : "") + std::string(candidate);
  }
  throw Error("unknown operation '" + std::string(text) + "': one of " + known);
}

namespace {

std::string range(const char* buffer, Bytes offset, Bytes bytes) {
  return std::to_string(bytes) + " B at " + std::to_string(offset) + " of " + buffer;
}

std::string neighbour(const Step& step) { return "local rank " + std::to_string(step.neighbour().value); }

std::string await_text(const Step& step) {
  const std::string whose = step.op() == Op::await ? neighbour(step) + "'s " : "all neighbours' ";
  const std::string who = whose + name(step.flag());
  if (step.calls_back() > 0) return "await " + who + " of " + std::to_string(step.calls_back()) + " calls ago";
  return "await " + who + " >= " + std::to_string(step.tick());
}

}  // namespace

std::string to_string(const Step& step) {
  const std::string here = range(name(step.buffer()), step.offset(), step.bytes());
  const auto far = [&] { return std::string(name(step.far_buffer())) + " at " + std::to_string(step.far_offset()); };
  switch (step.op()) {
    case Op::send: return "send " + here + " to rank " + std::to_string(step.peer().value);
    case Op::recv: return "recv " + here + " from rank " + std::to_string(step.peer().value);
    case Op::finish: return "finish slot " + std::to_string(step.slot());
    case Op::put: return "put " + here + " into window at " + std::to_string(step.window_offset());
    case Op::get:
      return "get " + here + " from " + neighbour(step) + "'s window at " + std::to_string(step.window_offset());
    case Op::pull: return "pull " + here + " from " + neighbour(step) + "'s " + far();
    case Op::push: return "push " + here + " into " + neighbour(step) + "'s " + far();
    case Op::post: return std::string("post ") + name(step.flag()) + " = " + std::to_string(step.tick());
    case Op::await:
    case Op::await_all: return await_text(step);
    case Op::copy: return "copy " + here + " from " + far();
    case Op::reduce:
      return "reduce " + here + " with " + (step.far_buffer() == Buffer::window ? neighbour(step) + "'s " : "") + far();
  }
  return "";
}

}  // namespace espalier::plan
