#include "cost/condense.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "cost/step_time.hpp"

namespace espalier::cost {

using plan::Buffer;
using plan::Op;
using plan::Step;

namespace {

bool is_own_work(const Step& step) {
  return step.op() == Op::put || step.op() == Op::get || step.op() == Op::copy || step.op() == Op::reduce;
}

/// One copy that takes so long, its step included.
Step copy_of(double time, const Parameters& is) {
  const double bytes = (time - is.step - is.copy.fixed) * is.copy.rate;
  return Step::copy(Buffer::input, 0, Buffer::output, 0, static_cast<Bytes>(std::llround(std::max(0.0, bytes))));
}

}  // namespace

plan::Program condense(const plan::Program& program, LocalRank me, const Parameters& is) {
  plan::Program condensed;
  condensed.slots = program.slots;
  const std::span<const Step> steps(program.steps);
  for (std::size_t i = 0; i < steps.size();) {
    std::size_t end = i;
    double time = 0;
    for (; end < steps.size() && is_own_work(steps[end]); ++end)
      time += copy_time(steps.subspan(end), me, is) + is.step;
    if (end < i + 2) {
      condensed.steps.push_back(steps[i++]);
    } else {
      condensed.steps.push_back(copy_of(time, is));
      i = end;
    }
  }
  condensed.steps.shrink_to_fit();
  return condensed;
}

}  // namespace espalier::cost
