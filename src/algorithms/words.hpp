#pragma once
// What every collective is written with.

#include "plan/builder.hpp"
#include "plan/choice.hpp"
#include "plan/problem.hpp"

namespace espalier::algorithms {

using plan::Between;
using plan::Buffer;
using plan::Builder;
using plan::Choice;
using plan::Operation;
using plan::Problem;

}  // namespace espalier::algorithms
