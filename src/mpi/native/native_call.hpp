#pragma once
// How native begins a call, and what the program has called it with: for as long as that may be asked for. All that is
// done with calls of one kind is so compiled once, and not for each of MPI's functions that begin them.

#include <cstddef>
#include <new>

#include "mpi/native/native.hpp"

namespace espalier::mpi {

class NativeCall {
 public:
  /// `Begin(mpi, request)` gives MPI's code. A copy of it is kept.
  template <class Begin>
  explicit NativeCall(const Begin& begin) : means_(&means_of<Begin>) {
    static_assert(sizeof(Begin) <= sizeof room_ && alignof(Begin) <= alignof(std::max_align_t));
    new (room_) Begin(begin);
  }
  NativeCall(const NativeCall& other) : means_(other.means_) { means_->copy(other.room_, room_); }
  NativeCall& operator=(const NativeCall&) = delete;
  ~NativeCall() { means_->destroy(room_); }

  int operator()(const Native& mpi, MPI_Request* request) const { return means_->begin(room_, mpi, request); }

 private:
  struct Means {
    int (*begin)(const void* it, const Native& mpi, MPI_Request* request);
    void (*copy)(const void* from, void* to);
    void (*destroy)(void* it);
  };
  template <class Begin>
  static constexpr Means means_of{[](const void* it, const Native& mpi, MPI_Request* request) {
                                    return (*static_cast<const Begin*>(it))(mpi, request);
                                  },
                                  [](const void* from, void* to) { new (to) Begin(*static_cast<const Begin*>(from)); },
                                  [](void* it) { static_cast<Begin*>(it)->~Begin(); }};

  // MPI_Ineighbor_alltoallw has nine arguments besides, and copies of its arrays.
  static constexpr std::size_t room = 128;

  const Means* means_;
  alignas(std::max_align_t) std::byte room_[room];
};

}  // namespace espalier::mpi
