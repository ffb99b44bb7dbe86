#include "cost/step_time.hpp"

#include <algorithm>

namespace espalier::cost {
namespace {

using plan::Op;
using plan::Step;

double reduce_time(const Step& step, LocalRank me, const Parameters& is) {
  const auto bytes = static_cast<double>(step.bytes());
  const bool is_far = step.far_buffer() == plan::Buffer::window && step.neighbour() != me;
  return is_far ? std::max(is.get.of(bytes), is.reduce.of(bytes)) : is.reduce.of(bytes);
}

}  // namespace

bool is_operand(std::span<const Step> rest) {
  if (rest.size() < 2) return false;
  const Step &step = rest[0], &next = rest[1];
  if (step.op() != Op::put && step.op() != Op::get && step.op() != Op::copy) return false;
  if (next.op() != Op::reduce || next.bytes() != step.bytes()) return false;
  const bool is_put = step.op() == Op::put;
  return next.buffer() == (is_put ? plan::Buffer::window : step.buffer()) &&
         next.offset() == (is_put ? step.window_offset() : step.offset());
}

double copy_time(std::span<const Step> rest, LocalRank me, const Parameters& is) {
  const Step& step = rest.front();
  const auto bytes = static_cast<double>(step.bytes());
  switch (step.op()) {
    case Op::put: return is_operand(rest) ? 0 : is.put.of(bytes);
    case Op::get: return is_operand(rest) ? 0 : is.get.of(bytes);
    case Op::copy: return is_operand(rest) ? 0 : is.copy.of(bytes);
    case Op::reduce: return reduce_time(step, me, is);
    case Op::pull:
    case Op::push: return is.single_copy.of(bytes);
    case Op::send:
    case Op::recv:
    case Op::finish:
    case Op::post:
    case Op::await:
    case Op::await_all: return 0;
  }
  return 0;
}

}  // namespace espalier::cost
