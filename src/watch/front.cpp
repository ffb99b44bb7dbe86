#include "watch/front.hpp"

#include <algorithm>
#include <map>

namespace espalier::watch {
namespace {

using Doing = execute::LeftToMpi::Doing;

bool is_at_its_end(const Sighting& seen) { return seen.left.doing == Doing::finalization; }

}  // namespace

bool is_in_left_call(const Sighting& seen) {
  switch (seen.left.doing) {
    case Doing::call:
    case Doing::comparison:
    case Doing::preparation:
    case Doing::run_preparation:
    case Doing::set_up: return true;
    case Doing::nothing:
    case Doing::finalization: break;
  }
  return false;
}

bool Front::is_reached_by(const Sighting& seen) const {
  switch (maker) {
    case Maker::espalier: return seen.waits() && seen.call == call;
    case Maker::mpi: return is_in_left_call(seen) && seen.left.calls == call;
    case Maker::end: return is_at_its_end(seen);
  }
  return false;
}

bool Front::is_passed_by(const Sighting& seen) const {
  switch (maker) {
    case Maker::espalier: return seen.finished >= call || (seen.waits() && seen.call > call);
    case Maker::mpi: return seen.left.calls >= call && !is_reached_by(seen);
    case Maker::end: return false;
  }
  return false;
}

double Front::seconds_of(const Sighting& seen) const {
  return maker == Maker::espalier ? seen.seconds : seen.left_seconds;
}

plan::Call Front::gist_of(const Sighting& seen) const {
  plan::Call call = maker == Maker::espalier ? seen.what : seen.left_call();
  if (!plan::has_root(call.operation)) call.root = 0;
  if (maker == Maker::espalier) call.blocks = plan::BlockSizes::equal;  // counts may have been found to be equal
  call.bytes.reset();
  call.number = 0;
  return call;
}

plan::Call Front::usual_gist(std::span<const Sighting> members) const {
  std::map<plan::Call, int> count;
  plan::Call usual = gist_of(members.front());
  int most = 0;
  for (const Sighting& it : members)
    if (is_reached_by(it)) ++count[gist_of(it)];
  for (const Sighting& it : members)
    if (is_reached_by(it) && count[gist_of(it)] > most) most = count[usual = gist_of(it)];
  return usual;
}

std::optional<Front> find_front(std::span<const Sighting> members) {
  std::optional<Front> own, left, end;
  for (const Sighting& it : members) {
    if (it.waits() && (!own || it.call < own->call)) own = Front{Maker::espalier, it.call};
    if (is_in_left_call(it) && (!left || it.left.calls < left->call)) left = Front{Maker::mpi, it.left.calls};
    if (is_at_its_end(it)) end = Front{Maker::end, 0};
  }
  // Whoever has ended MPI stays in view: where all have, nobody waits.
  if (std::all_of(members.begin(), members.end(), is_at_its_end)) end.reset();
  return own ? own : left ? left : end;
}

}  // namespace espalier::watch
