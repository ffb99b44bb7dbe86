#include "machine/handover.hpp"

#if defined(__x86_64__)
#include <cpuid.h>

#include <cstring>
#include <string_view>
#endif

namespace espalier::machine {

#if defined(__x86_64__)

Handover probe_handover() {
  unsigned highest = 0, name[3] = {};  // EBX, EDX, ECX, as the manuals spell it
  if (__get_cpuid(0, &highest, &name[0], &name[2], &name[1]) == 0) return Handover::slow;
  char maker[sizeof name];
  std::memcpy(maker, name, sizeof name);
  const std::string_view is(maker, sizeof maker);
  return is == "AuthenticAMD" || is == "HygonGenuine" ? Handover::quick : Handover::slow;
}

#else

Handover probe_handover() { return Handover::slow; }

#endif

}  // namespace espalier::machine
