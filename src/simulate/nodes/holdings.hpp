#pragma once
// Which caches have copies of a stretch of memory.

#include <cstddef>
#include <map>
#include <vector>

#include "base/ids.hpp"

namespace espalier::simulate {

/// One buffer of one rank. Lines are told apart as far as steps do: a stretch is what has been written and read alike.
class Holdings {
 public:
  /// Whose hands copies come from; `nobody` has been there before.
  using Mover = std::ptrdiff_t;
  static constexpr Mover nobody = -1;

  struct Source {
    int cache;
    Mover brought_by;  ///< may still be at it
  };

  /// At first all of it is in one cache.
  explicit Holdings(int cache) { stretches_[0] = {cache, {{cache, nobody}}}; }

  /// Where a core below `cache` finds [begin, end): there, or where it was written; from then on also there, brought by
  /// `mover`. Of stretches that are in several places the farthest counts, as told by being elsewhere.
  Source read(Bytes begin, Bytes end, int cache, Mover mover);
  /// A core below `cache` writes [begin, end): copies elsewhere are gone. Appends the caches that had some.
  void write(Bytes begin, Bytes end, int cache, std::vector<int>& had);
  /// All who have brought copies are done.
  void forget_movers() {
    for (auto& [begin, stretch] : stretches_)
      for (Source& copy : stretch.copies) copy.brought_by = nobody;
  }

 private:
  struct Stretch {
    int writer;
    std::vector<Source> copies;
  };
  using Stretches = std::map<Bytes, Stretch>;  ///< by begin; each ends where the next begins

  Stretches::iterator cut(Bytes at);

  Stretches stretches_;
};

}  // namespace espalier::simulate
