#pragma once
// The schemes of waiting: spin, spin and yield, spin and sleep, and yield first and sleep then.

#include <chrono>
#include <cstdint>

#include "base/waiting.hpp"
#include "execute/seams.hpp"
#include "execute/waiting/bell.hpp"
#include "execute/waiting/company.hpp"

namespace espalier::execute {

/// Whether some who wait by this scheme fall asleep, so that those they wait for must ring their bells.
constexpr bool may_sleep(Waiting scheme) noexcept { return scheme == Waiting::futex || scheme == Waiting::auto_; }

/// Waits by one scheme. Measured with `bench_node` (docs/ideas/smp.md): yielding is fastest where ranks share cores,
/// sleeping leaves the cores to others and lets them save energy. `automatic` sleeps where yielding does not help.
/// Where there is a core for each, which `spin` tells, yielding must not keep the kernel from giving each its own.
class PatientWaiter : public Waiter {
 public:
  /// `spin` looks come before the first yield or sleep: 0 where ranks outnumber cores.
  PatientWaiter(Waiting scheme, std::uint32_t spin) noexcept;

  bool pause(std::uint32_t attempt, Bell* bell) noexcept final;

 protected:
  /// Called now and then while waiting: before each sleep, every few yields, every few hundred looks.
  virtual void poke() noexcept {}

  /// From one poke to the next, at most, once the wait has become long.
  virtual std::chrono::microseconds longest_sleep() const noexcept { return std::chrono::milliseconds(20); }

  /// What is asked of the system; for tests to answer.
  virtual void yield() noexcept;
  virtual void nap() noexcept;
  virtual Company::Time now() const noexcept;

 private:
  bool doze(Bell& bell) noexcept;
  void give_away() noexcept;
  bool keeps_core(std::uint32_t attempt) noexcept;

  Waiting scheme_;
  std::uint32_t spin_;
  std::uint32_t sleeps_from_;     ///< looks before the first sleep
  Bell* announced_at_ = nullptr;  ///< where the caller's last look came after an announcement
  Bell::Ticket ticket_ = 0;
  std::chrono::microseconds patience_{};
  Company company_;
  bool is_standing_ = false;
  Company::Time stands_until_{};
};

}  // namespace espalier::execute
