#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include "base/bytes.hpp"
#include "base/settings.hpp"
#include "bindings/bindings.hpp"

namespace espalier::bindings {

namespace nb = nanobind;

void bind_base(nb::module_& module) {
  module.def("parse_bytes", &parse_bytes, nb::arg("text"));
  module.def("format_bytes", &format_bytes, nb::arg("bytes"));

  nb::class_<SettingInfo>(module, "Setting")
      .def_prop_ro("name", [](const SettingInfo& info) { return info.name; })
      .def_prop_ro("default", [](const SettingInfo& info) { return info.default_value; })
      .def_prop_ro("help", [](const SettingInfo& info) { return info.help; })
      .def_ro("is_collective", &SettingInfo::is_collective);
  module.def("settings", [] {
    nb::list settings;
    for (const SettingInfo& info : setting_infos()) settings.append(info);
    return settings;
  });
}

}  // namespace espalier::bindings
