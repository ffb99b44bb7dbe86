#pragma once
// From a problem and a choice to programs. Pure and local: equal inputs give equal programs on every rank.

#include <span>

#include "plan/program.hpp"

namespace espalier::algorithms {

/// The program of one rank. Time and memory are proportional to its own steps, never to ranks squared.
/// `choice` must be valid for the problem (limits.hpp); throws Error otherwise.
plan::Program build_program(const topology::Topology& topology, const plan::Problem& problem,
                            const plan::Choice& choice, Rank me);

/// The programs of all ranks, for verification and explanation.
plan::Plan build_plan(const topology::Topology& topology, const plan::Problem& problem, const plan::Choice& choice);

/// The programs of some ranks only; those of all others are empty. For looking at a job whose plan is too large.
plan::Plan build_part(const topology::Topology& topology, const plan::Problem& problem, const plan::Choice& choice,
                      std::span<const Rank> ranks);

}  // namespace espalier::algorithms
