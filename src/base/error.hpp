#pragma once
// Errors of set-up and of bad input. The hot path never throws: it returns a status.

#include <stdexcept>
#include <string>

namespace espalier {

/// What was wrong, where, and what to do about it, in one sentence fit for a person.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace espalier
