#include "transports/mapped_memory.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace espalier::transports {
namespace {

constexpr int read_and_write = 2;  // XPMEM_RDWR

}  // namespace

NeighbourMemory::NeighbourMemory(const Xpmem& xpmem, XpmemSegment segment, const Attaching& attaching)
    : xpmem_(&xpmem), segment_(segment), attaching_(attaching) {
  chunks_.reserve(attaching.most);
}

NeighbourMemory::NeighbourMemory(NeighbourMemory&& other) noexcept
    : xpmem_(other.xpmem_),
      segment_(other.segment_),
      attaching_(other.attaching_),
      permission_(std::exchange(other.permission_, 0)),
      uses_(other.uses_),
      chunks_(std::exchange(other.chunks_, {})),
      candidates_(other.candidates_) {}

NeighbourMemory::~NeighbourMemory() {
  for (const Chunk& chunk : chunks_) xpmem_->detach(chunk.here);
  if (permission_ > 0) xpmem_->release(permission_);
}

std::byte* NeighbourMemory::find(const std::byte* theirs, Bytes bytes) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(theirs);
  const std::uintptr_t begin = address / attaching_.chunk * attaching_.chunk;
  for (Chunk& chunk : chunks_)
    if (chunk.begin == begin) {
      chunk.last_use = ++uses_;
      return chunk.here + (address - begin);
    }
  std::byte* const here = is_worth(begin, bytes) ? attach(begin) : nullptr;
  return here == nullptr ? nullptr : here + (address - begin);
}

/// Candidates share places: memory that is used once pushes out what was used once before. A chunk that was refused
/// begins anew.
bool NeighbourMemory::is_worth(std::uintptr_t begin, Bytes bytes) noexcept {
  Candidate& candidate = candidates_[begin / attaching_.chunk % candidates_.size()];
  if (candidate.begin != begin) candidate = {begin, 0};
  candidate.copied += bytes;
  if (candidate.copied < attaching_.worth) return false;
  candidate.copied = 0;
  return true;
}

std::byte* NeighbourMemory::attach(std::uintptr_t begin) noexcept {
  if (permission_ == 0) permission_ = xpmem_->get(segment_, read_and_write, permit_mode, nullptr);
  if (permission_ < 0) return nullptr;
  make_room();
  void* const here = xpmem_->attach({permission_, static_cast<std::int64_t>(begin)}, attaching_.chunk, nullptr);
  if (reinterpret_cast<std::intptr_t>(here) == -1) return nullptr;
  chunks_.push_back({begin, static_cast<std::byte*>(here), ++uses_});
  return chunks_.back().here;
}

void NeighbourMemory::make_room() noexcept {
  if (chunks_.size() < attaching_.most) return;
  const auto oldest = std::min_element(chunks_.begin(), chunks_.end(),
                                       [](const Chunk& a, const Chunk& b) { return a.last_use < b.last_use; });
  xpmem_->detach(oldest->here);
  *oldest = chunks_.back();
  chunks_.pop_back();
}

MappedMemory::MappedMemory(const Xpmem& xpmem, const std::vector<XpmemSegment>& segments, const Attaching& attaching,
                           std::unique_ptr<execute::SingleCopy> otherwise)
    : chunk_(attaching.chunk), otherwise_(std::move(otherwise)) {
  neighbours_.reserve(segments.size());
  for (const XpmemSegment segment : segments) neighbours_.emplace_back(xpmem, segment, attaching);
}

/// `copy(here, done, bytes)` for what is attached, `otherwise(done, bytes)` for what is not.
template <class Copy, class Otherwise>
bool MappedMemory::for_each_chunk(LocalRank owner, const std::byte* theirs, Bytes bytes, Copy copy,
                                  Otherwise otherwise) noexcept {
  NeighbourMemory& neighbour = neighbours_[static_cast<std::size_t>(owner.value)];
  for (Bytes done = 0; done < bytes;) {
    const Bytes in_chunk = reinterpret_cast<std::uintptr_t>(theirs + done) % chunk_;
    const Bytes part = std::min(bytes - done, chunk_ - in_chunk);
    if (std::byte* const here = neighbour.find(theirs + done, part); here != nullptr)
      copy(here, done, part);
    else if (otherwise_ == nullptr || !otherwise(done, part))
      return false;
    done += part;
  }
  return true;
}

bool MappedMemory::read(LocalRank owner, const std::byte* theirs, std::byte* mine, Bytes bytes) noexcept {
  return for_each_chunk(
      owner, theirs, bytes,
      [&](const std::byte* here, Bytes done, Bytes part) { std::memcpy(mine + done, here, part); },
      [&](Bytes done, Bytes part) { return otherwise_->read(owner, theirs + done, mine + done, part); });
}

bool MappedMemory::write(LocalRank owner, std::byte* theirs, const std::byte* mine, Bytes bytes) noexcept {
  return for_each_chunk(
      owner, theirs, bytes, [&](std::byte* here, Bytes done, Bytes part) { std::memcpy(here, mine + done, part); },
      [&](Bytes done, Bytes part) { return otherwise_->write(owner, theirs + done, mine + done, part); });
}

}  // namespace espalier::transports
