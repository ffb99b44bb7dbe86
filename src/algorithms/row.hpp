#pragma once
// What an algorithm's file is written with.

#include "algorithms/algorithm.hpp"
#include "algorithms/candidates/candidates.hpp"
#include "algorithms/prices/scene.hpp"
#include "algorithms/prices/ways.hpp"
#include "algorithms/words.hpp"
