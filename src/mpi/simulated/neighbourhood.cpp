#include "mpi/simulated/neighbourhood.hpp"

#include <utility>

namespace espalier::mpi {

namespace s4u = simgrid::s4u;

namespace {

/// Each rank maps its node's board at an address of its own; only the place within a page is common to all of them.
/// Bells that fall together cost a look in vain.
std::uintptr_t place_of(const execute::Bell& bell) { return reinterpret_cast<std::uintptr_t>(&bell) % 4096; }

}  // namespace

double simulated_now() { return s4u::Engine::get_clock(); }

void let_time_pass(double microseconds) {
  if (microseconds > 0) s4u::this_actor::sleep_for(microseconds);
}

Neighbourhood& Neighbourhood::here() {
  s4u::Host* host = s4u::this_actor::get_host();
  if (host->get_data<Neighbourhood>() == nullptr) host->set_data(new Neighbourhood);
  return *host->get_data<Neighbourhood>();
}

void Neighbourhood::sleep_at(const execute::Bell& bell) {
  const s4u::SemaphorePtr alarm = s4u::Semaphore::create(0);
  asleep_[place_of(bell)].push_back(alarm);
  alarm->acquire();
}

void Neighbourhood::wake_at(const execute::Bell& bell) {
  for (const s4u::SemaphorePtr& alarm : std::exchange(asleep_[place_of(bell)], {})) alarm->release();
}

double Neighbourhood::enter_kernel(LocalRank me, LocalRank other, double time, double together) {
  const double now = simulated_now();
  int company = visits_[other.value].until > now ? 1 : 0;
  for (const auto& [rank, visit] : visits_)
    if (rank != me.value && visit.to == other && visit.until > now) ++company;
  time += together * company;
  visits_[me.value] = {other, now + time};
  return time;
}

}  // namespace espalier::mpi
