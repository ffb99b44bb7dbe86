#pragma once
// Other tools in the process that stand in front of MPI by the profiling interface (MPI 4.1, chapter 15): they define
// MPI_Bcast and go on to PMPI_Bcast. Each is to see every call of the program once, and the work is to be ours.
//
//     program ─► MPI_Bcast ─► a tool before us ─► PMPI_Bcast ─► the work ─► libmpi's PMPI_Bcast, if at all
//     program ─► MPI_Bcast, ours ─► a tool behind us ─► PMPI_Bcast ─► the work …
//     program ─► MPI_Bcast, ours ─► the work …
//
// So we define both names. PMPI_Bcast is the work where a tool calls it; whoever else does, libmpi itself or a program
// that wants native, gets native.

#include <atomic>
#include <cstdint>

#include "mpi/native/native.hpp"

namespace espalier::mpi {

class Tools {
 public:
  /// The next tool behind us, by MPI's names, or null: all that a process without tools pays for them.
  static const Native* next() noexcept {
    if (state_.load(std::memory_order_relaxed) == State::none) [[likely]]
      return nullptr;
    return next_slowly();
  }
  /// Nothing is in front of MPI but us, and MPI is one that we serve: what calls look at first.
  static bool are_none() noexcept { return state_.load(std::memory_order_relaxed) == State::none; }
  /// Looks again, at the next call.
  static void forget() noexcept { state_.store(State::unknown, std::memory_order_release); }
  /// Whether it is a tool's code that calls PMPI from there.
  static bool comes_back(const void* caller) noexcept {
    const bool is_tools = state_.load(std::memory_order_relaxed) != State::none && has_slowly(caller);
    if (is_tools) came_back_ = true;
    return is_tools;
  }

  /// A call that is a tool's behind us, until it is over. One that has not come back by PMPI is the MPI's, and once a
  /// line says so.
  class Way {
   public:
    explicit Way(const void* function) noexcept : function_(function) { came_back_ = false; }
    ~Way() {
      if (!came_back_) tell_of_way_past(function_);
    }
    Way(const Way&) = delete;
    Way& operator=(const Way&) = delete;

   private:
    const void* function_;
  };

 private:
  enum class State : std::uint8_t { unknown, none, some };
  static const Native* next_slowly() noexcept;
  static bool has_slowly(const void* address) noexcept;
  static State look() noexcept;
  static void tell_of_way_past(const void* function) noexcept;

  static inline std::atomic<State> state_ = State::unknown;
  static inline thread_local constinit bool came_back_ = false;
};

/// Whether a symbol that was found is of this library.
bool is_ours(const void* symbol) noexcept;

}  // namespace espalier::mpi

// ESPALIER_CALL(name, parameters, arguments) { what Espalier does }: MPI_name and PMPI_name.
#if defined(ESPALIER_SIMULATED)
#define ESPALIER_CALL(name, parameters, arguments) ESPALIER_EXPORT int MPI_##name parameters
#define ESPALIER_CALL_BY(name, parameters, arguments, ours) \
  ESPALIER_EXPORT int MPI_##name parameters { return ours arguments; }
#else
#define ESPALIER_CALL(name, parameters, arguments)             \
  [[gnu::noinline]] static int do_MPI_##name parameters;       \
  ESPALIER_CALL_BY(name, parameters, arguments, do_MPI_##name) \
  static int do_MPI_##name parameters
// A call of an MPI with another binary interface is handed on with all bits of handles that are longer than ours. So
// what looks for that does nothing else but jump: a function that calls another first keeps its arguments, as long as
// it knows them to be (tests/mpi/test_foreign.py). Each of these has a jump for its end, on either way.
#define ESPALIER_LEAVE_ALONE(name, parameters, arguments, find_foreign, otherwise)      \
  [[gnu::noinline]] static int leave_##otherwise parameters {                           \
    if (const ::espalier::mpi::Native* const foreign = ::espalier::mpi::find_foreign()) \
      return foreign->name != nullptr ? foreign->name arguments : MPI_ERR_INTERN;       \
    return otherwise arguments;                                                         \
  }
// `ours` is never inlined.
#define ESPALIER_CALL_BY(name, parameters, arguments, ours)                                     \
  [[gnu::noinline]] static int pass_MPI_##name parameters {                                     \
    const ::espalier::mpi::Native* const next = ::espalier::mpi::Tools::next();                 \
    if (next == nullptr || next->name == nullptr) return ours arguments;                        \
    const ::espalier::mpi::Tools::Way way(reinterpret_cast<const void*>(next->name));           \
    return next->name arguments;                                                                \
  }                                                                                             \
  [[gnu::noinline]] static int make_PMPI_##name parameters {                                    \
    const ::espalier::mpi::Native* const mpi = ::espalier::mpi::find_native();                  \
    return mpi != nullptr && mpi->name != nullptr ? mpi->name arguments : MPI_ERR_INTERN;       \
  }                                                                                             \
  [[gnu::noinline]] static int pass_PMPI_##name parameters {                                    \
    if (::espalier::mpi::Tools::comes_back(__builtin_return_address(0))) return ours arguments; \
    return make_PMPI_##name arguments;                                                          \
  }                                                                                             \
  ESPALIER_LEAVE_ALONE(name, parameters, arguments, find_foreign_next, pass_MPI_##name)         \
  ESPALIER_LEAVE_ALONE(name, parameters, arguments, find_foreign, pass_PMPI_##name)             \
  ESPALIER_EXPORT int MPI_##name parameters {                                                   \
    if (!::espalier::mpi::Tools::are_none()) [[unlikely]]                                       \
      return leave_pass_MPI_##name arguments;                                                   \
    return ours arguments;                                                                      \
  }                                                                                             \
  ESPALIER_EXPORT int PMPI_##name parameters {                                                  \
    if (!::espalier::mpi::Tools::are_none()) [[unlikely]]                                       \
      return leave_pass_PMPI_##name arguments;                                                  \
    return make_PMPI_##name arguments;                                                          \
  }
#endif
