#include "watch/diagnosis.hpp"
#include "watch/lookout.hpp"

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
std::optional<std::string> told_call(const RankStand& rank) {
  if (rank.other) return watch::describe_call(*rank.other);
  const bool is_in_another = rank.stand == Stand::has_finished && (rank.seen.waits() || rank.seen.is_in_mpi());
  if (rank.stand != Stand::waits && rank.stand != Stand::differs && !is_in_another) return std::nullopt;
  return watch::describe_call(rank.seen);
}

std::optional<watch::Life> parse_life(const std::string& name) {
  using enum watch::Life;
  for (const watch::Life life : {running, asleep, in_kernel, stopped, dead})
    if (name == name_of(life)) return life;
  return std::nullopt;
}

/// Ranks of MPI_COMM_WORLD, as triples.
nb::list to_list(std::span<const execute::RankSpan> members) {
  nb::list spans;
  for (const execute::RankSpan& it : members) spans.append(nb::make_tuple(it.first, it.stride, it.count));
  return spans;
}
std::vector<execute::RankSpan> from_list(const std::vector<std::vector<int>>& spans) {
  std::vector<execute::RankSpan> members;
  for (const std::vector<int>& it : spans) members.push_back({it.at(0), it.at(1), it.at(2)});
  return members;
}

/// A rank as one host tells others of it.
using Told = nb::typed<nb::dict, nb::str, nb::any>;

Told to_dict(const Sighting& seen, watch::Life life) {
  Told told;
  told["community"] = seen.community;
  told["pid"] = seen.pid;
  told["world_rank"] = seen.world_rank;
  told["rank"] = seen.rank;
  told["ranks"] = seen.ranks;
  told["finished"] = seen.finished;
  told["call"] = seen.call;
  told["number"] = seen.what.number;
  told["operation"] = static_cast<int>(seen.what.operation);
  told["form"] = static_cast<int>(seen.what.form);
  told["blocks"] = static_cast<int>(seen.what.blocks);
  told["bytes"] = seen.what.bytes.value_or(0);
  told["root"] = seen.what.root;
  told["seconds"] = seen.seconds;
  told["left"] = seen.left.to_word();
  told["left_seconds"] = seen.left_seconds;
  told["job"] = seen.job;
  told["place"] = seen.place;
  told["members"] = to_list(seen.members);
  told["life"] = name_of(life);
  return told;
}

template <class Value>
Value at(const Told& told, const char* name) {
  return nb::cast<Value>(told[name]);
}

Sighting from_dict(const Told& told) {
  Sighting seen{at<std::uint32_t>(told, "community"), at<int>(told, "pid"), at<int>(told, "world_rank"),
                at<int>(told, "rank"), at<int>(told, "ranks")};
  seen.finished = at<std::uint64_t>(told, "finished");
  seen.call = at<std::uint64_t>(told, "call");
  seen.what = {.operation = static_cast<plan::Operation>(at<int>(told, "operation")),
               .blocks = static_cast<plan::BlockSizes>(at<int>(told, "blocks")),
               .form = static_cast<plan::CallForm>(at<int>(told, "form")),
               .root = at<int>(told, "root"),
               .bytes = execute::told_bytes(at<std::uint64_t>(told, "bytes")),
               .number = at<std::uint32_t>(told, "number")};
  seen.seconds = at<double>(told, "seconds");
  seen.left = execute::LeftToMpi::from_word(at<std::uint64_t>(told, "left"));
  seen.left_seconds = at<double>(told, "left_seconds");
  seen.job = at<std::uint32_t>(told, "job");
  seen.place = at<int>(told, "place");
  seen.members = from_list(at<std::vector<std::vector<int>>>(told, "members"));
  seen.host = at<std::string>(told, "host");
  return seen;
}

std::vector<Told> list_ranks(int pid, double apart) {
  const std::vector<Sighting> seen = watch::find_ranks(watch::find_arenas(pid), apart);
  const watch::Lives lives = watch::probe_lives(seen);
  std::vector<Told> told;
  for (const Sighting& it : seen) told.push_back(to_dict(it, lives.at(watch::process_of(it))));
  return told;
}

std::vector<Standstill> diagnose(const std::vector<Told>& told, double least) {
  std::vector<Sighting> seen;
  watch::Lives lives;
  for (const Told& it : told) {
    seen.push_back(from_dict(it));
    const auto life = parse_life(at<std::string>(it, "life"));
    if (life) lives[watch::process_of(seen.back())] = *life;
  }
  return watch::find_standstills(seen, lives, least);
}

}  // namespace

void bind_watch(nb::module_& module) {
  nb::class_<RankStand>(module, "RankStand", "A rank of a communicator that stands still.")
      .def_ro("rank", &RankStand::rank, "In the communicator.")
      .def_ro("world_rank", &RankStand::world_rank, "In MPI_COMM_WORLD; -1: not known.")
      .def_ro("pid", &RankStand::pid, "Its process; 0: it is not seen here.")
      .def_prop_ro(
          "host", [](const RankStand& it) { return it.seen.host; }, "Where that is; empty: here, or not known.")
      .def_prop_ro(
          "stand", [](const RankStand& it) { return std::string(name_of(it.stand)); },
          "waits, differs (with another operation or root), has_finished, elsewhere (in another communicator), "
          "not_come or unseen (on another host, or through with MPI).")
      .def_prop_ro(
          "life", [](const RankStand& it) { return std::string(name_of(it.life)); },
          "running, asleep, in_kernel, stopped or dead.")
      .def_prop_ro(
          "seconds", [](const RankStand& it) { return it.seen.waits() ? it.seen.seconds : it.seen.left_seconds; },
          "For how long it has waited, or been in what is left to the MPI as far as it was looked at; 0: it does not.")
      .def_prop_ro("call", told_call, "What it waits in, for a person.");
  nb::class_<Standstill>(module, "Standstill", "A communicator in which a rank waits.")
      .def_prop_ro(
          "community", [](const Standstill& it) { return watch::describe_community(it); }, "Which, for a person.")
      .def_ro("size", &Standstill::size, "Ranks of the communicator.")
      .def_prop_ro(
          "call", [](const Standstill& it) { return it.number; },
          "The number of the first call that is not over, among all that the program makes on the communicator; 0: it "
          "is "
          "not known.")
      .def_prop_ro(
          "is_left_to_mpi", [](const Standstill& it) { return it.front.maker != watch::Maker::espalier; },
          "Whether it is the MPI that makes it.")
      .def_ro("seconds", &Standstill::seconds, "For how long the first has waited in it.")
      .def_ro("ranks", &Standstill::ranks, "All of its ranks.")
      .def_ro("culprit", &Standstill::culprit, "Who is waited for, and what it does: a few sentences.")
      .def_prop_ro("text", &watch::to_text, "All of it, for a person, in lines.");
  module.def(
      "list_ranks", &list_ranks, nb::arg("pid") = 0, nb::arg("apart") = 1.0,
      "What this host shows of ranks, each once for every communicator, in jobs that this process takes part "
      "in, or, where it is 0, in all: plain data for diagnose(), by two looks so many seconds apart where any is "
      "in what is left to the MPI.");
  module.def("diagnose", &diagnose, nb::arg("told"), nb::arg("least") = 1.0,
             "The communicators in which a rank has waited for `least` seconds or longer, the longest first: out of "
             "what list_ranks() has told on several hosts, each rank with its `host` added.");
}

}  // namespace espalier::bindings
