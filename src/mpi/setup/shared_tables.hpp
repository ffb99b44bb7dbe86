#pragma once
// Tables of a job: read by one rank and handed on, however many there are.

#include <string>
#include <vector>

#include "mpi/native/native.hpp"
#include "tune/store.hpp"

namespace espalier::mpi {

/// Which files a rank wants, as its settings say.
struct WantedTables {
  std::string table;  ///< ESPALIER_TABLE
  std::string store;  ///< ESPALIER_STORE; "off" where nothing that was learned is to be read

  bool operator==(const WantedTables&) const = default;
};

struct ReadTables {
  std::vector<tune::TableText> texts;
  std::vector<std::string> remarks;  ///< on files that cannot be read
  int day = 0;                       ///< on which they were (tune/day.hpp)
};

/// As this rank finds them.
ReadTables read_wanted(const WantedTables& wanted);

/// All ranks of `comm` call it: what rank 0 reads, those have who want the same; others read for themselves. Throws
/// NativeFailure.
ReadTables share_tables(MPI_Comm comm, int rank, const WantedTables& wanted);

}  // namespace espalier::mpi
