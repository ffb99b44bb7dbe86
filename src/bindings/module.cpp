#include "base/error.hpp"
#include "bindings/bindings.hpp"

NB_MODULE(_core, module) {
  namespace bindings = espalier::bindings;
  module.doc() =
      "Espalier's compiled core: topologies, choices, plans and their proof.\n\n"
      "Operations are named \"broadcast\" (\"bcast\"), \"allgather\", \"barrier\" and so on. Values are immutable but "
      "for CostParameters. Bad arguments raise Error with a text made for people.";
  nanobind::exception<espalier::Error>(module, "Error", PyExc_ValueError).attr("__doc__") =
      "Bad arguments, told to people.";
  // Types come before the functions that speak of them.
  bindings::bind_base(module);
  bindings::bind_fabric(module);
  bindings::bind_service(module);
  bindings::bind_machine(module);
  bindings::bind_memory(module);
  bindings::bind_topology(module);
  bindings::bind_plan(module);
  bindings::bind_leaders(module);
  bindings::bind_cost(module);
  bindings::bind_algorithms(module);
  bindings::bind_trees(module);
  bindings::bind_tune(module);
  bindings::bind_verify(module);
  bindings::bind_watch(module);
}
