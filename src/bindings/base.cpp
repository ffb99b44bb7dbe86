#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "base/bytes.hpp"
#include "base/program_patterns.hpp"
#include "base/settings.hpp"
#include "bindings/bindings.hpp"

namespace espalier::bindings {

namespace nb = nanobind;

void bind_base(nb::module_& module) {
  module.def("parse_bytes", &parse_bytes, nb::arg("text"), "Reads a size as people write it: 4096, 64K, 1M, 2G.");
  module.def("format_bytes", &format_bytes, nb::arg("bytes"),
             "The shortest exact spelling that parse_bytes reads back.");

  module.def("why_not_served", &why_not_served, nb::arg("only"), nb::arg("excluded"), nb::arg("program"),
             "Why the library leaves everything in a program to native, by these values of ESPALIER_ONLY and "
             "ESPALIER_NOT; empty: it does not.");

  nb::class_<SettingInfo>(module, "Setting", "One of the library's variables.")
      .def_prop_ro(
          "name", [](const SettingInfo& info) { return info.name; }, "The environment variable.")
      .def_prop_ro("default", [](const SettingInfo& info) { return info.default_value; })
      .def_prop_ro("help", [](const SettingInfo& info) { return info.help; })
      .def_ro("is_collective", &SettingInfo::is_collective, "Must be equal on all ranks.");
  module.def(
      "settings",
      [] {
        const auto settings = setting_infos();
        return std::vector<SettingInfo>(settings.begin(), settings.end());
      },
      "All of them, in the order of their listing.");
  module.def(
      "check_settings",
      [](std::vector<std::string> variables) {
        std::vector<char*> environment;
        for (std::string& variable : variables) environment.push_back(variable.data());
        environment.push_back(nullptr);
        return read_settings(environment.data()).complaints;
      },
      nb::arg("variables"), "What a job would complain of in these variables, NAME=VALUE: one sentence each.");
}

}  // namespace espalier::bindings
