#pragma once
// How ranks that are threads of a test wait: there are more of them than cores.

#include <sched.h>

#include <cstdint>

#include "execute/seams.hpp"

namespace espalier::execute {

class Yield final : public Waiter {
 public:
  bool pause(std::uint32_t, Bell*) noexcept override {
    sched_yield();
    return false;
  }
};

}  // namespace espalier::execute
