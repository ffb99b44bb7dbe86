#include <nanobind/operators.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <initializer_list>
#include <optional>
#include <utility>

#include "bindings/bindings.hpp"
#include "plan/accounting.hpp"
#include "plan/program.hpp"
#include "plan/traffic.hpp"

namespace espalier::bindings {

namespace nb = nanobind;
using plan::Choice;
using plan::Op;
using plan::Plan;
using plan::Program;
using plan::Step;
using plan::Traffic;

namespace {

/// An attribute that means something for some operations only, and is None for the others.
template <class Get>
auto only_for(std::initializer_list<Op> ops, Get get) {
  std::uint32_t mask = 0;
  for (const Op op : ops) mask |= 1u << static_cast<int>(op);
  return [mask, get](const Step& step) {
    const bool is_meant = (mask >> static_cast<int>(step.op())) & 1u;
    return is_meant ? std::optional(get(step)) : std::nullopt;
  };
}

void bind_step(nb::module_& module) {
  nb::class_<Step>(module, "Step", "One step of a program. Attributes that mean nothing for its operation are None.")
      .def_prop_ro("op", [](const Step& s) { return plan::name(s.op()); })
      .def_prop_ro("buffer", only_for({Op::send, Op::recv, Op::put, Op::get, Op::pull, Op::push, Op::copy, Op::reduce},
                                      [](const Step& s) { return std::string(plan::name(s.buffer())); }))
      .def_prop_ro("offset", only_for({Op::send, Op::recv, Op::put, Op::get, Op::pull, Op::push, Op::copy, Op::reduce},
                                      [](const Step& s) { return s.offset(); }))
      .def_prop_ro("bytes", only_for({Op::send, Op::recv, Op::put, Op::get, Op::pull, Op::push, Op::copy, Op::reduce},
                                     [](const Step& s) { return s.bytes(); }))
      .def_prop_ro("peer", only_for({Op::send, Op::recv}, [](const Step& s) { return s.peer().value; }))
      .def_prop_ro("slot", only_for({Op::send, Op::recv, Op::finish}, [](const Step& s) { return s.slot(); }))
      .def_prop_ro("neighbour", only_for({Op::get, Op::pull, Op::push, Op::await, Op::reduce},
                                         [](const Step& s) { return s.neighbour().value; }))
      .def_prop_ro("window_offset", only_for({Op::put, Op::get}, [](const Step& s) { return s.window_offset(); }))
      .def_prop_ro("far_buffer", only_for({Op::pull, Op::push, Op::copy, Op::reduce},
                                          [](const Step& s) { return std::string(plan::name(s.far_buffer())); }))
      .def_prop_ro("far_offset",
                   only_for({Op::pull, Op::push, Op::copy, Op::reduce}, [](const Step& s) { return s.far_offset(); }))
      .def_prop_ro("flag", only_for({Op::post, Op::await, Op::await_all},
                                    [](const Step& s) { return std::string(plan::name(s.flag())); }))
      .def_prop_ro("tick", only_for({Op::post, Op::await, Op::await_all}, [](const Step& s) { return s.tick(); }))
      .def_prop_ro("calls_back", only_for({Op::await, Op::await_all}, [](const Step& s) { return s.calls_back(); }))
      .def("__str__", [](const Step& s) { return plan::to_string(s); })
      .def("__repr__", [](const Step& s) { return "<Step: " + plan::to_string(s) + ">"; })
      .def(nb::self == nb::self, nb::sig("def __eq__(self, arg: object, /) -> bool"));
}

void bind_choice(nb::module_& module) {
  nb::class_<Choice>(module, "Choice", "An algorithm and its knobs; str() is what parse_choice reads.")
      .def_prop_ro("between", [](const Choice& c) { return plan::name(c.between); })
      .def_prop_ro("within", [](const Choice& c) { return plan::name(c.within); })
      .def_ro("radix", &Choice::radix)
      .def_ro("segment", &Choice::segment, "In bytes; 0 sends each message whole.")
      .def_ro("cell", &Choice::cell)
      .def_ro("cells", &Choice::cells)
      .def_ro("groups", &Choice::groups, "Groups of masters: how many ranks of a node speak on the network.")
      .def_prop_ro(
          "exchange", [](const Choice& c) { return plan::name(c.exchange); }, "How the masters of a group exchange.")
      .def_ro("connections", &Choice::connections, "Messages that one rank has under way at most; 0 sets no bound.")
      .def_prop_ro(
          "order", [](const Choice& c) { return plan::name(c.order); }, "In which order a tree takes nodes.")
      .def_ro("levels", &Choice::levels,
              "2: within a node, data pass from domain to domain once and are handed on there.")
      .def_prop_ro(
          "staging", [](const Choice& c) { return plan::name(c.staging); },
          "What the masters of an allgather's groups send and receive: auto, copy, zero_copy.")
      .def_prop_ro(
          "stores", [](const Choice& c) { return plan::name(c.stores); },
          "How ranks write what they take out of cells: cached, streaming.")
      .def("__str__", [](const Choice& c) { return plan::to_string(c); })
      .def("__repr__", [](const Choice& c) { return "<Choice: " + plan::to_string(c) + ">"; })
      .def(nb::self == nb::self, nb::sig("def __eq__(self, arg: object, /) -> bool"));
}

/// By name, for JSON.
using Counts = nb::typed<nb::dict, nb::str, nb::int_>;

Counts to_dict(const Traffic& node) {
  Counts counts;
  counts["messages_out"] = node.messages_out;
  counts["messages_in"] = node.messages_in;
  counts["bytes_out"] = node.bytes_out;
  counts["bytes_in"] = node.bytes_in;
  counts["connections_out"] = node.connections_out;
  counts["connections_in"] = node.connections_in;
  counts["shared_written"] = node.shared_written;
  counts["shared_read"] = node.shared_read;
  counts["single_copied"] = node.single_copied;
  counts["steps"] = node.steps;
  return counts;
}

nb::typed<nb::list, Counts> traffic_of(const Plan& plan) {
  nb::typed<nb::list, Counts> nodes;
  for (const Traffic& node : plan::count_traffic(plan)) nodes.append(to_dict(node));
  return nodes;
}

void bind_accounting(nb::module_& module) {
  using plan::Accounting, plan::PhaseAccount, plan::Share, plan::Stream;
  nb::class_<Share>(module, "Share", "So many ranks, each with so many bytes.")
      .def_ro("count", &Share::count)
      .def_ro("bytes", &Share::bytes);
  nb::class_<Stream>(module, "Stream", "Connections that carry `steps` messages of `bytes` each, one behind the other.")
      .def_ro("bytes", &Stream::bytes)
      .def_ro("connections", &Stream::connections)
      .def_ro("steps", &Stream::steps);
  nb::class_<PhaseAccount>(module, "PhaseAccount",
                           "What the ranks of a node write to and read from shared memory in one phase.")
      .def_ro("name", &PhaseAccount::name)
      .def_ro("writes", &PhaseAccount::writes)
      .def_ro("reads", &PhaseAccount::reads);
  nb::class_<Accounting>(module, "Accounting", "What one node does in a plan, counted from its steps.")
      .def_ro("connections_in", &Accounting::connections_in)
      .def_ro("connections_out", &Accounting::connections_out)
      .def_ro("network", &Accounting::network)
      .def_ro("phases", &Accounting::phases);
  module.def(
      "account_for", [](const Plan& plan, int node) { return plan::account_for(plan, NodeId(node)); }, nb::arg("plan"),
      nb::arg("node"), "Raises Error when the plan has no such node.");
}

}  // namespace

void bind_plan(nb::module_& module) {
  bind_accounting(module);
  bind_step(module);
  bind_choice(module);
  nb::class_<Program>(module, "Program", "What one rank does.")
      .def_ro("steps", &Program::steps)
      .def_ro("scratch_bytes", &Program::scratch_bytes)
      .def_ro("slots", &Program::slots)
      .def_ro("window_bytes", &Program::window_bytes)
      .def_ro("has_one_reader", &Program::has_one_reader, "Every cell that it writes is read by one rank.")
      .def_prop_ro(
          "phases",
          [](const Program& program) {
            std::vector<std::pair<std::string, std::size_t>> phases;
            for (const plan::Phase& phase : program.phases) phases.emplace_back(phase.name, phase.first_step);
            return phases;
          },
          "Name and first step of each part that has a name of its own.")
      .def_prop_ro("stores", [](const Program& p) { return plan::name(p.stores); })
      .def(nb::self == nb::self, nb::sig("def __eq__(self, arg: object, /) -> bool"));
  nb::class_<Plan>(module, "Plan", "The programs of all ranks.")
      .def_ro("topology", &Plan::topology)
      .def_ro("choice", &Plan::choice)
      .def_ro("programs", &Plan::programs)
      .def_prop_ro("operation", [](const Plan& p) { return plan::name(p.problem.operation); })
      .def_prop_ro("bytes", [](const Plan& p) { return p.problem.bytes; })
      .def_prop_ro("root", [](const Plan& p) { return p.problem.root.value; })
      .def_prop_ro("longest_program", &plan::longest_program, "In steps.")
      .def("traffic", &traffic_of,
           "What moves, one entry per node: messages, bytes, connections, shared memory, steps.");
}

}  // namespace espalier::bindings
