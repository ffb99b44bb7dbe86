#include "explorer/engine.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

namespace espalier::interleavings {
namespace {

constexpr std::size_t arena_bytes = std::size_t{4} << 20, heap_bytes = std::size_t{512} << 10,
                      stack_bytes = std::size_t{512} << 10;

std::uint64_t value_at(const std::byte* address, unsigned bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, address, bytes);
  return value;
}

std::uint64_t mix(std::uint64_t so_far, std::uint64_t next) {
  return (so_far ^ next) * 0x9e37'79b9'7f4a'7c15 ^ so_far >> 29;
}

}  // namespace

Engine* Engine::active_ = nullptr;
std::byte* Engine::memory_ = nullptr;
std::byte* Engine::end_ = nullptr;

std::size_t Choices::choose(std::size_t options) {
  if (options < 2) return 0;
  if (at_ == taken_.size()) taken_.push_back({0, options});
  return taken_[at_++].taken;
}

bool Choices::next() {
  while (!taken_.empty() && taken_.back().taken + 1 == taken_.back().options) taken_.pop_back();
  at_ = 0;
  if (taken_.empty()) return false;
  ++taken_.back().taken;
  return true;
}

Engine::Engine(const Scenario& scenario, const Options& options)
    : scenario_(scenario),
      options_(options),
      history_(options.faults),
      fibers_(static_cast<std::size_t>(scenario.ranks)) {
  if (memory_ == nullptr) {
    memory_ = static_cast<std::byte*>(
        mmap(nullptr, arena_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    end_ = memory_ + arena_bytes;
    prepared_ = memory_;
  }
  next_ = memory_;
  for (Fiber& fiber : fibers_) fiber.stack = std::make_unique_for_overwrite<std::byte[]>(stack_bytes);
}

// ---- the search
// ------------------------------------------------------------------------------------------------------

Report Engine::explore() {
  do {
    execute();
    // Whoever was thought to be the only writer of a location is not: choices were left out.
    if (history_.has_new_writer()) {
      choices_.restart();
      report_ = {};
      seen_.clear();
      continue;
    }
    if (end_of_execution_ == End::violated) {
      is_traced_ = true;
      choices_.replay();
      execute();
      report_.violation = what_ + "\n" + trace_;
      return report_;
    }
    count();
    if (report_.executions + report_.repeated + report_.abandoned >= options_.most_executions) return report_;
    if (!choices_.next()) {
      report_.is_complete = true;
      return report_;
    }
  } while (true);
}

/// What each rank has read, and where in histories its own writes came, is all that tells executions apart.
void Engine::count() {
  std::uint64_t all = 0;
  for (const Fiber& it : fibers_) all = mix(all, it.reads);
  if (end_of_execution_ != End::complete)
    ++report_.abandoned;
  else
    ++(seen_.insert(all).second ? report_.executions : report_.repeated);
}

void Engine::execute() {
  end_of_execution_ = End::running;
  is_last_resort_ = false;
  history_.reset();
  std::memset(memory_, 0, static_cast<std::size_t>(prepared_ - memory_));
  next_ = memory_;
  trace_.clear();
  prepare();
  prepared_ = next_;
  for (std::size_t r = 0; r < fibers_.size(); ++r) {
    Fiber& fiber = fibers_[r];
    fiber.state = State::ready;
    fiber.last_read.assign(fiber.last_read.size(), 0);
    fiber.reads = 1;  // 0 and 0 would make 0
    fiber.looks_again = false;
    fiber.last_access = no_location;
    fiber.looks = 0;
    fiber.patience = options_.patience;
    fiber.heap = take(heap_bytes, 64);
    fiber.heap_end = fiber.heap + heap_bytes;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = stack_bytes;
    fiber.context.uc_link = nullptr;
    const auto self = reinterpret_cast<std::uintptr_t>(this);
    makecontext(&fiber.context, reinterpret_cast<void (*)()>(&Engine::enter), 3, static_cast<unsigned>(self >> 32),
                static_cast<unsigned>(self), static_cast<unsigned>(r));
  }
  last_ = 0;
  while (end_of_execution_ == End::running)
    if (!run_some()) judge_standstill();
  if (end_of_execution_ == End::complete) scenario_.finish();
}

void Engine::prepare() {
  active_ = this;
  scenario_.prepare(*this);
  active_ = nullptr;
}

/// Lets the next rank run that can. False: none can.
bool Engine::run_some() {
  const int ranks = static_cast<int>(fibers_.size());
  for (int i = 0; i < ranks; ++i) {
    const int rank = (last_ + i) % ranks;
    if (fibers_[static_cast<std::size_t>(rank)].state != State::ready) continue;
    last_ = rank;
    run(rank);
    return true;
  }
  return false;
}

void Engine::run(int rank) {
  running_ = rank;
  active_ = this;
  swapcontext(&search_, &fiber().context);
  active_ = nullptr;
  running_ = -1;
}

void Engine::enter(unsigned high, unsigned low, unsigned rank) {
  auto* const self = reinterpret_cast<Engine*>(std::uintptr_t{high} << 32 | low);
  self->scenario_.run(static_cast<int>(rank));
  active_ = nullptr;
  self->fiber().state = State::over;
  self->trace("is through");
  self->switch_to_search();
}

/// Comes back when the fiber is run again.
void Engine::switch_to_search() {
  Fiber& self = fiber();
  swapcontext(&self.context, &search_);
  active_ = nullptr;
}

void Engine::leave(End end) {
  end_of_execution_ = end;
  active_ = nullptr;
  setcontext(&search_);
  std::abort();
}

void Engine::violate(const std::string& what) {
  what_ = "rank " + std::to_string(running_) + ": " + what;
  leave(End::violated);
}

/// Where a rank was put off and the write that it is for does not come, there is no such execution. Let it go on with
/// what is there, without a choice: all that may come of it and does not come up elsewhere is that nobody gets on.
void Engine::judge_standstill() {
  const auto is = [&](State state) {
    return std::any_of(fibers_.begin(), fibers_.end(), [&](const Fiber& it) { return it.state == state; });
  };
  if (is(State::put_off)) {
    is_last_resort_ = true;
    for (Fiber& it : fibers_)
      if (it.state == State::put_off) it.state = State::ready;
  } else if (!is(State::blocked) && !is(State::sleeping)) {
    end_of_execution_ = is_last_resort_ ? End::abandoned : End::complete;
  } else if (!grant_patience()) {
    what_ = "nobody gets on:";
    for (std::size_t r = 0; r < fibers_.size(); ++r) {
      if (fibers_[r].state == State::over) continue;
      what_ += " rank " + std::to_string(r) + (fibers_[r].state == State::sleeping ? " sleeps;" : " waits;");
    }
    end_of_execution_ = End::violated;
  }
}

/// Lets those that look in vain look more often.
bool Engine::grant_patience() {
  bool is_granted = false;
  for (Fiber& it : fibers_)
    if (it.state == State::blocked && it.patience > 0) {
      it.state = State::ready;
      is_granted = true;
    }
  return is_granted;
}

// ---- choices
// ---------------------------------------------------------------------------------------------------------

Location& Engine::location_of(std::byte* address, unsigned bytes) {
  return history_.at(address, value_at(address, bytes));
}

Location& Engine::begin_access(std::byte* address, unsigned bytes) {
  ++report_.accesses;
  // Against what is not atomic an atomic access counts as a read: objects are made before they are used.
  touch(address, bytes, false);
  fiber().last_access = no_location;
  return location_of(address, bytes);
}

bool Engine::may_be_written_by_others(const Location& location) const {
  if (is_last_resort_) return false;
  for (std::size_t r = 0; r < fibers_.size(); ++r)
    if (static_cast<int>(r) != running_ && (location.writers & 1u << r) != 0 && fibers_[r].state != State::over)
      return true;
  return false;
}

void Engine::await(std::vector<Look> looks, State state) {
  Fiber& self = fiber();
  self.awaited = std::move(looks);
  self.state = state;
  switch_to_search();
}

void Engine::put_off(Location& location) {
  trace("puts off its access to " + location.name);
  await({{location.id, location.last()}}, State::put_off);
}

void Engine::note_growth(Location& location) {
  for (std::size_t r = 0; r < fibers_.size(); ++r) {
    Fiber& it = fibers_[r];
    if (it.state != State::put_off && it.state != State::blocked) continue;
    const bool has_grown = std::any_of(it.awaited.begin(), it.awaited.end(), [&](const Look& look) {
      return look.location == location.id && location.last() > look.read;
    });
    if (!has_grown) continue;
    it.looks_again = false;
    it.last_access = no_location;
    it.state = State::ready;
  }
}

/// One of the writes that this rank may read and `is_wanted`, now or once there are more.
template <class Wanted>
Index Engine::choose_write(Location& location, Wanted is_wanted) {
  Index floor = history_.of(running_).floor(location);
  for (;;) {
    std::size_t wanted = 0;
    for (Index i = floor; i < location.length; ++i) wanted += is_wanted(i);
    const std::size_t options = wanted + may_be_written_by_others(location);
    if (options == 0) leave(End::abandoned);
    std::size_t taken = is_last_resort_ ? 0 : choices_.choose(options);
    for (Index i = location.last() + 1; taken < wanted && i-- > floor;)
      if (is_wanted(i) && taken-- == 0) return i;
    floor = location.last() + 1;
    put_off(location);
    if (location.last() < floor) floor = location.last();  // it is the last resort
  }
}

/// The last write, when it is to be followed by one of this rank: at once, unless others write there, too.
Index Engine::choose_time(Location& location) {
  return choose_write(location, [&](Index i) { return i == location.last(); });
}

void Engine::note_read(Location& location, Index index) {
  Fiber& self = fiber();
  if (self.last_read.size() <= location.id) self.last_read.resize(location.id + 1, 0);
  self.last_read[location.id] = index + 1;
  self.reads = mix(mix(self.reads, location.id), index);
  if (self.looks_again) self.looked.push_back({location.id, index});
}

void Engine::append(Location& location, unsigned bytes, std::uint64_t value, Order order, std::optional<Index> read) {
  const bool is_ordered = history_.write(running_, location, value, order, read);
  std::memcpy(const_cast<std::byte*>(location.address), &value, bytes);
  trace("writes " + std::to_string(value) + " to " + location.name + (order.releases ? ", releasing" : ""));
  if (!is_ordered) violate("writes " + location.name + ", and so does another rank, in no order");
  note_growth(location);
}

// ---- what ranks do
// ---------------------------------------------------------------------------------------------------

std::uint64_t Engine::load(std::byte* address, unsigned bytes, int order) {
  Fiber& self = fiber();
  const std::size_t last_access = self.last_access;
  Location& location = begin_access(address, bytes);
  const bool is_known = location.id < self.last_read.size() && self.last_read[location.id] > 0;
  const bool is_repeated = is_known && (self.looks_again || (options_.looks_are_pure && last_access == location.id));
  self.last_access = location.id;
  // Who has been granted patience has waited for long: by then all is visible.
  const Index index = is_known && self.patience < options_.patience ? location.last()
                      : is_repeated ? std::max(self.last_read[location.id] - 1, history_.of(running_).floor(location))
                                    : choose_write(location, [](Index) { return true; });
  note_read(location, index);
  const std::uint64_t value = history_.read(running_, location, index, order_of(order, true, false));
  trace("reads " + std::to_string(value) + " from " + location.name +
        (index < location.last() ? ", which is " + std::to_string(location.last() - index) + " behind" : ""));
  const bool is_any = location.fault != nullptr && location.fault->kind == Fault::any_bool;
  if (!is_any) return value;
  const std::size_t said = choices_.choose(2);
  self.reads = mix(self.reads, said);
  return said;
}

void Engine::store(std::byte* address, unsigned bytes, std::uint64_t value, int order) {
  Location& location = begin_access(address, bytes);
  choose_time(location);
  append(location, bytes, value, order_of(order, false, true), std::nullopt);
}

bool Engine::exchange_if(std::byte* address, unsigned bytes, std::uint64_t& expected, std::uint64_t value, int order,
                         int order_of_failure) {
  Location& location = begin_access(address, bytes);
  history_.note_writer(running_, location);
  // It succeeds on the last write, or is no more than a load of another value.
  const Index index =
      choose_write(location, [&](Index i) { return i == location.last() || location.write(i).value != expected; });
  note_read(location, index);
  const bool succeeds = location.write(index).value == expected;
  const std::uint64_t found =
      history_.read(running_, location, index, order_of(succeeds ? order : order_of_failure, true, false));
  if (succeeds)
    append(location, bytes, value, order_of(order, true, true), index);
  else
    expected = found;
  return succeeds;
}

void Engine::touch(const void* address, std::size_t bytes, bool is_write) {
  if (bytes == 0) return;
  const auto* const begin = static_cast<const std::byte*>(address);
  if (is_write && begin < prepared_) fiber().last_access = no_location;
  const auto other = history_.touch(running_, begin, static_cast<std::size_t>(begin - memory_), bytes, is_write);
  if (other)
    violate(std::string(is_write ? "writes " : "reads ") + history_.name_of(begin) + ", in no order with rank " +
            std::to_string(*other));
}

void Engine::lock(std::byte* mutex) {
  Location& location = begin_access(mutex, 4);
  history_.note_writer(running_, location);
  for (;;) {
    while (location.write(location.last()).value != 0) await({{location.id, location.last()}}, State::blocked);
    const Index last = choose_time(location);
    if (location.write(last).value != 0) continue;  // put off, and somebody else has it
    note_read(location, last);
    history_.read(running_, location, last, {true, true});
    append(location, 4, 1, {true, true}, last);
    return;
  }
}

void Engine::unlock(std::byte* mutex) {
  Location& location = begin_access(mutex, 4);
  append(location, 4, 0, {false, true}, std::nullopt);
}

/// After a look in vain. Had the rank looked later, it would have found more: that execution comes up, too. Where there
/// is no more to find, or looks have effects, it looks once more, to learn what exactly it looks at, and waits for
/// that.
void Engine::pause() {
  Fiber& self = fiber();
  if (self.looks_again && self.patience < options_.patience && self.patience > 0) {
    --self.patience;
    self.looked.clear();
    return;
  }
  const bool is_pure = options_.waits_are_pure && self.patience == options_.patience && !is_last_resort_;
  if (!self.looks_again) {
    if (is_pure && self.last_access != no_location && may_be_written_by_others(history_.by_id(self.last_access)))
      leave(End::abandoned);
    self.looks_again = true;
    self.looked.clear();
    return;
  }
  trace("looks in vain");
  if (!options_.waits_are_pure && ++self.looks > options_.most_looks) leave(End::abandoned);
  std::vector<Look> looked = std::exchange(self.looked, {});
  const bool has_more = std::any_of(looked.begin(), looked.end(), [&](const Look& look) {
    Location& location = history_.by_id(look.location);
    return location.last() > look.read && location.write(location.last()).writer != running_;
  });
  if (has_more) {
    if (is_pure) leave(End::abandoned);
    self.looks_again = false;
    self.last_access = no_location;
    return;
  }
  await(std::move(looked), State::blocked);
  if (self.looks_again && self.patience > 0) --self.patience;
}

void Engine::sleep(std::byte* word, std::uint32_t value) {
  Location& location = begin_access(word, 4);
  const Index last = choose_time(location);
  note_read(location, last);
  if (static_cast<std::uint32_t>(location.write(last).value) != value) return;
  Fiber& self = fiber();
  self.sleeps_on = location.id;
  self.state = State::sleeping;
  trace("falls asleep");
  switch_to_search();
}

void Engine::wake(std::byte* word) {
  const Location& location = location_of(word, 4);
  trace("wakes who sleeps at " + location.name);
  for (Fiber& it : fibers_)
    if (it.state == State::sleeping && it.sleeps_on == location.id) it.state = State::ready;
}

void Engine::require(bool holds, const char* what) {
  if (!holds) violate(what);
}

// ---- memory
// ----------------------------------------------------------------------------------------------------------

std::byte* Engine::take(std::size_t bytes, std::size_t alignment) {
  next_ += (alignment - reinterpret_cast<std::uintptr_t>(next_) % alignment) % alignment;
  std::byte* const begin = next_;
  next_ += bytes;
  if (next_ > end_) std::abort();
  return begin;
}

void Engine::name(const void* begin, std::size_t bytes, std::string name) {
  const Pause pause;
  history_.name(static_cast<const std::byte*>(begin), bytes, name.c_str());  // the string's memory is the scenario's
}

void* Engine::allocate(std::size_t bytes, std::size_t alignment) {
  if (running_ < 0) return take(bytes, alignment);
  std::byte*& heap = fiber().heap;
  heap += (alignment - reinterpret_cast<std::uintptr_t>(heap) % alignment) % alignment;
  if (heap + bytes > fiber().heap_end) std::abort();
  return std::exchange(heap, heap + bytes);
}

void Engine::trace(const std::string& what) {
  if (is_traced_) trace_ += "  rank " + std::to_string(running_) + " " + what + "\n";
}

}  // namespace espalier::interleavings
