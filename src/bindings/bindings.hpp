#pragma once
// What each folder of src/ shows to Python, with its documentation: _core.pyi is generated from it.

#include <nanobind/nanobind.h>

namespace espalier::bindings {

void bind_base(nanobind::module_& module);
void bind_fabric(nanobind::module_& module);
void bind_service(nanobind::module_& module);
void bind_machine(nanobind::module_& module);
void bind_memory(nanobind::module_& module);
void bind_topology(nanobind::module_& module);
void bind_plan(nanobind::module_& module);
void bind_leaders(nanobind::module_& module);
void bind_algorithms(nanobind::module_& module);
void bind_trees(nanobind::module_& module);
void bind_cost(nanobind::module_& module);
void bind_tune(nanobind::module_& module);
void bind_verify(nanobind::module_& module);
void bind_watch(nanobind::module_& module);

}  // namespace espalier::bindings
