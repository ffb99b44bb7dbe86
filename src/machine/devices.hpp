#pragma once
// Whether a process may call collectives with memory of an accelerator, which we must not touch.

#include <string>

namespace espalier::machine {

/// True when a device runtime (CUDA, HIP, Level Zero, SYCL) is loaded, or when the program or one of its libraries
/// carries device code: CUDA's runtime is usually linked in statically and loads its driver only at the first use,
/// which may come after the first collective. Looks at files again only when something was loaded since the last time.
/// Never fails: a file that cannot be read carries nothing.
bool may_use_devices();

/// Whether a file is such a runtime, by its name, or carries device code: one thing that a program is made of.
bool uses_devices(const std::string& path);

/// Whether an ELF file has a section of device code. False for anything else.
bool carries_device_code(const std::string& path);

}  // namespace espalier::machine
