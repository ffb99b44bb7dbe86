#include "explorer/memory.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

namespace espalier::interleavings {

Order order_of(int memory_order, bool is_read, bool is_write) {
  const auto order = static_cast<std::memory_order>(memory_order & 0xffff);  // above: hints for lock elision
  const bool both = order == std::memory_order_acq_rel || order == std::memory_order_seq_cst;
  const bool acquires = both || order == std::memory_order_acquire || order == std::memory_order_consume;
  return {is_read && acquires, is_write && (both || order == std::memory_order_release)};
}

void Memory::reset() {
  ++execution_;
  for (Location& location : locations_) location.length = 0;
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    ranks_[r].view.assign(locations_.size(), 0);
    ranks_[r].clock = {};
    ranks_[r].clock[r] = 1;
  }
}

void Memory::name(const std::byte* begin, std::size_t bytes, std::string name) {
  const bool is_known = std::any_of(names_.begin(), names_.end(), [&](const Named& it) { return it.begin == begin; });
  if (!is_known) names_.push_back({begin, bytes, std::move(name)});
}

std::string Memory::name_of(const std::byte* address) const {
  for (const Named& it : names_)
    if (address >= it.begin && address < it.begin + it.bytes) return it.name;
  return "memory";
}

Location& Memory::at(const std::byte* address, std::uint64_t initial) {
  const auto [entry, is_new] = ids_.emplace(address, locations_.size());
  if (is_new) {
    Location location;
    location.address = address;
    location.id = locations_.size();
    location.name = name_of(address);
    for (const Fault& fault : faults_)
      if (fault.kind != Fault::none && location.name.starts_with(fault.where)) location.fault = &fault;
    locations_.push_back(std::move(location));
  }
  Location& location = locations_[entry->second];
  if (location.length == 0) {
    if (location.history.empty()) location.history.emplace_back();
    location.history[0] = {};
    location.history[0].value = initial;
    location.length = 1;
  }
  return location;
}

std::uint64_t Memory::read(int rank, Location& location, Index index, Order order) {
  Knowledge& knowledge = of(rank);
  if (knowledge.view.size() <= location.id) knowledge.view.resize(location.id + 1);
  knowledge.view[location.id] = std::max(knowledge.view[location.id], index);
  const Write& write = location.write(index);
  const bool acquires = order.acquires && !(location.fault != nullptr && location.fault->kind == Fault::relaxed_load);
  if (acquires && write.releases) {
    raise(knowledge.view, write.view);
    raise(knowledge.clock, write.clock);
  }
  const bool is_lie = location.fault != nullptr && location.fault->kind == Fault::lie;
  return is_lie ? location.fault->value : write.value;
}

void Memory::note_writer(int rank, Location& location) {
  const unsigned mine = 1u << rank;
  has_new_writer_ = has_new_writer_ || (location.writers & mine) == 0;
  location.writers |= mine;
}

bool Memory::write(int rank, Location& location, std::uint64_t value, Order order, std::optional<Index> read) {
  note_writer(rank, location);
  Knowledge& knowledge = of(rank);
  const Write& before = location.write(location.last());
  const bool is_ordered = read || before.writer < 0 || before.writer == rank ||
                          before.epoch <= knowledge.clock[static_cast<std::size_t>(before.writer)];
  if (location.history.size() == location.length) location.history.emplace_back();
  Write& write = location.history[location.length++];
  if (knowledge.view.size() <= location.id) knowledge.view.resize(location.id + 1);
  knowledge.view[location.id] = location.last();
  write.value = value;
  write.writer = rank;
  write.epoch = knowledge.clock[static_cast<std::size_t>(rank)];
  write.releases = false;
  const auto carry = [&](const View& view, const Clock& clock) {
    if (!write.releases) {
      write.view = view;
      write.clock = clock;
    } else {
      raise(write.view, view);
      raise(write.clock, clock);
    }
    write.releases = true;
  };
  if (order.releases && !(location.fault != nullptr && location.fault->kind == Fault::relaxed_store))
    carry(knowledge.view, knowledge.clock);
  // A release sequence goes on through read-modify-writes.
  if (read && location.write(*read).releases) carry(location.write(*read).view, location.write(*read).clock);
  ++knowledge.clock[static_cast<std::size_t>(rank)];
  return is_ordered;
}

std::optional<int> Memory::touch(int rank, const std::byte*, std::size_t offset, std::size_t bytes, bool is_write) {
  if (bytes_.size() < offset + bytes) bytes_.resize(offset + bytes);
  const Clock& clock = of(rank).clock;
  for (Byte* byte = &bytes_[offset]; byte != &bytes_[offset] + bytes; ++byte) {
    if (byte->execution != execution_) *byte = {execution_, 0, -1, {}};
    if (byte->writer >= 0 && byte->writer != rank && byte->written > clock[static_cast<std::size_t>(byte->writer)])
      return byte->writer;
    if (is_write) {
      for (int other = 0; other < most_ranks; ++other)
        if (other != rank && byte->read[static_cast<std::size_t>(other)] > clock[static_cast<std::size_t>(other)])
          return other;
      byte->writer = rank;
      byte->written = clock[static_cast<std::size_t>(rank)];
    } else {
      byte->read[static_cast<std::size_t>(rank)] = clock[static_cast<std::size_t>(rank)];
    }
  }
  return std::nullopt;
}

}  // namespace espalier::interleavings
