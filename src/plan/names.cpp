// What plans are made of, as text.

#include "base/bytes.hpp"
#include "base/enumerators.hpp"
#include "base/error.hpp"
#include "plan/choice.hpp"
#include "plan/problem.hpp"
#include "plan/step.hpp"

namespace espalier::plan {

static_assert(operation_count == enumerator_count<Operation>);
static_assert(flag_count == enumerator_count<Flag>);

const char* name(Op op) { return name_enumerator(op); }
const char* name(Buffer buffer) { return name_enumerator(buffer); }
const char* name(Flag flag) { return name_enumerator(flag); }
const char* name(Operation operation) { return name_enumerator(operation); }
const char* name(Within within) { return name_enumerator(within); }
const char* name(Exchange exchange) { return name_enumerator(exchange); }
const char* name(Staging staging) { return name_enumerator(staging); }
const char* name(Leaders leaders) { return name_enumerator(leaders); }
const char* name(Order order) { return name_enumerator(order); }
const char* name(Stores stores) { return name_enumerator(stores); }

Operation parse_operation(std::string_view text) {
  if (text == "bcast") return Operation::broadcast;
  if (text == "reduce_scatter_block") return Operation::reduce_scatter;
  if (const std::optional<Operation> found = find_enumerator<Operation>(text)) return *found;
  throw Error("unknown operation '" + std::string(text) + "': one of " + list_enumerators<Operation>());
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
