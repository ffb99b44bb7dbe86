#pragma once
// What ranks note of calls that are tried, and what they make of it together.

#include <cstdint>
#include <span>
#include <vector>

namespace espalier::learn {

/// One call of one rank, in nanoseconds. Ranks of one host share a clock; those of several count each from its own
/// arrival, so that waiting for others counts, too, with whoever does the call.
struct Sample {
  std::int64_t came = 0;
  std::int64_t left = 0;
};

/// What each call took, in microseconds, from its last rank's arrival to its last rank's end: who waits for a rank that
/// computes still does not count (arrival patterns are the program's). `samples`: of all ranks, one rank after the
/// other, `calls` of each. Never less than a nanosecond. Pure: equal on all ranks that hold the same samples.
std::vector<double> derive_times(std::span<const Sample> samples, std::size_t calls);

/// Of values in any order; 0 of none.
double median(std::vector<double> values);
/// The standard error of that median, by the middle half of the values, so that outliers do not count; of fewer than
/// four values half their range.
double derive_error(std::vector<double> values);

/// From the least value to the next; 0 where there are not two.
double derive_gap(std::vector<double> values);

/// How sure it is that values of `slower` are larger than those of `faster`: the normal approximation to the rank sum
/// of Mann and Whitney, in standard deviations. Outliers count as one value each. 0 where one has no values.
double derive_certainty(std::span<const double> faster, std::span<const double> slower);

}  // namespace espalier::learn
