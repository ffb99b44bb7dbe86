#include "learn/purse.hpp"

#include <algorithm>
#include <cmath>

namespace espalier::learn {

double Purse::calls_until(double cost, double each) const {
  constexpr double very_many = 1e9;
  if (cost <= left_) return 0;
  if (share_ <= 0 || each <= 0) return very_many;
  return std::min(very_many, std::ceil((cost - left_) / (share_ * each)));
}

}  // namespace espalier::learn
