#include "explorer/explorer.hpp"

#include "explorer/engine.hpp"

namespace espalier::interleavings {

Report explore(const Scenario& scenario, const Options& options) { return Engine(scenario, options).explore(); }

void require(bool holds, const char* what) {
  Engine* const engine = Engine::active();
  if (holds || engine == nullptr) return;
  const Engine::Pause pause;
  engine->require(false, what);
}

}  // namespace espalier::interleavings
