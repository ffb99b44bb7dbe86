#pragma once
// For which machine and which MPI a table holds.

#include <string>
#include <string_view>

namespace espalier::tune {

/// Two one-line texts, made to be read and to be compared. Kernel, host name and placement are no part of them: a table
/// serves all equal nodes of a cluster and survives an update of the system.
struct Signature {
  /// "AMD EPYC 7763 64-Core Processor, 128 processors, 2 NUMA nodes, 512 GiB".
  std::string machine;
  /// "MPICH Version: 5.0.2".
  std::string mpi;

  bool operator==(const Signature&) const = default;
};

/// The signature of this machine with the MPI whose MPI_Get_library_version says `library_version`. Reads /proc and
/// /sys; never fails: what cannot be read is left out of the text.
Signature probe_signature(std::string_view library_version);

/// An MPI in one line: the first of MPI_Get_library_version's text, up to the first comma, with single blanks. What
/// follows in that text (build host, date, configure flags) differs between equal libraries.
std::string shorten_version(std::string_view library_version);

/// Whether what was found out with one signature holds with another. Memory, and the MPI's releases of one major
/// version, may differ.
enum class Fit { exact, near, foreign };
Fit derive_fit(const Signature& made_for, const Signature& here);
/// Why a table made for `made_for` must not be used `here`; empty when it may.
std::string why_foreign(const Signature& made_for, const Signature& here);

}  // namespace espalier::tune
