#include "watch/diagnosis.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/bindings.hpp"

namespace espalier::bindings {

namespace nb = nanobind;
using watch::RankStand;
using watch::Sighting;
using watch::Stand;
using watch::Standstill;

namespace {

const char* name_of(Stand stand) {
  switch (stand) {
    case Stand::waits: return "waits";
    case Stand::differs: return "differs";
    case Stand::has_finished: return "has_finished";
    case Stand::elsewhere: return "elsewhere";
    case Stand::not_come: return "not_come";
    case Stand::unseen: return "unseen";
  }
  return "";
}

const char* name_of(watch::Life life) {
  switch (life) {
    case watch::Life::running: return "running";
    case watch::Life::asleep: return "asleep";
    case watch::Life::in_kernel: return "in_kernel";
    case watch::Life::stopped: return "stopped";
    case watch::Life::dead: return "dead";
  }
  return "";
}

/// What it waits in: where it has come, the call at hand; else the other communicator's.
std::optional<std::string> call_of(const RankStand& rank) {
  if (rank.other) return watch::describe_call(*rank.other);
  if (rank.stand != Stand::waits && rank.stand != Stand::differs) return std::nullopt;
  return watch::describe_call(rank.seen);
}

std::vector<Sighting> find_all_ranks(int pid) {
  std::vector<Sighting> seen;
  for (const auto& arena : watch::find_arenas(pid))
    for (Sighting& it : watch::find_ranks(*arena)) seen.push_back(it);
  return seen;
}

}  // namespace

void bind_watch(nb::module_& module) {
  nb::class_<RankStand>(module, "RankStand", "A rank of a communicator that stands still.")
      .def_ro("rank", &RankStand::rank, "In the communicator.")
      .def_ro("world_rank", &RankStand::world_rank, "In MPI_COMM_WORLD; -1: not known.")
      .def_ro("pid", &RankStand::pid, "Its process; 0: on another host.")
      .def_prop_ro(
          "stand", [](const RankStand& it) { return std::string(name_of(it.stand)); },
          "waits, differs (with another operation or root), has_finished, elsewhere (in another communicator), "
          "not_come or unseen (on another host).")
      .def_prop_ro(
          "life", [](const RankStand& it) { return std::string(name_of(it.life)); },
          "running, asleep, in_kernel, stopped or dead.")
      .def_prop_ro(
          "seconds", [](const RankStand& it) { return it.seen.waits() ? it.seen.seconds : 0.0; },
          "For how long it has waited; 0: it does not.")
      .def_prop_ro("call", call_of, "What it waits in, for a person.");
  nb::class_<Standstill>(module, "Standstill", "A communicator in which a rank waits.")
      .def_prop_ro(
          "community", [](const Standstill& it) { return watch::describe_community(it.community, it.size); },
          "Which, for a person.")
      .def_ro("size", &Standstill::size, "Ranks of the communicator.")
      .def_ro("call", &Standstill::call, "The number of the first call that is not over.")
      .def_ro("seconds", &Standstill::seconds, "For how long the first has waited in it.")
      .def_ro("ranks", &Standstill::ranks, "All of its ranks.")
      .def_ro("culprit", &Standstill::culprit, "Who is waited for, and what it does: a few sentences.")
      .def_prop_ro("text", &watch::to_text, "All of it, for a person, in lines.");
  module.def(
      "count_watched", [](int pid) { return find_all_ranks(pid).size(); }, nb::arg("pid") = 0,
      "How many ranks, each once for every communicator, are to be seen in jobs that this process takes part in; 0: in "
      "all jobs of this host.");
  module.def(
      "find_standstills",
      [](int pid, double least) {
        const std::vector<Sighting> seen = find_all_ranks(pid);
        return watch::find_standstills(seen, watch::probe_lives(seen), least);
      },
      nb::arg("pid") = 0, nb::arg("least") = 1.0,
      "The communicators, of the job that this process takes part in, or of all jobs of this host, in which a rank has "
      "waited for `least` seconds; the longest first.");
}

}  // namespace espalier::bindings
