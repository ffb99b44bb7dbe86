#include "transports/ucx/link.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace espalier::transports::ucx {
namespace {

// What UCX says about an endpoint, line by line, has been for people since 1.3; ucp_ep_query tells transports from 1.14
// on only.
std::string describe(ucp_ep_h endpoint) {
  char* text = nullptr;
  std::size_t bytes = 0;
  std::FILE* const stream = open_memstream(&text, &bytes);
  if (stream == nullptr) return {};
  api().ucp_ep_print_info(endpoint, stream);
  std::fclose(stream);
  std::string description(text, bytes);
  std::free(text);
  return description;
}

// A single connection over tcp does: UCX emulates writes there, and the receiver's own thread stores them one after the
// other. Anything else, also a description that we do not understand, promises nothing.
bool is_one_stream(std::string_view description) {
  const std::size_t first = description.find("lane[");
  if (first == description.npos || description.find("lane[", first + 1) != description.npos) return false;
  return description.substr(first, description.find('\n', first) - first).find(":tcp/") != description.npos;
}

}  // namespace

Link::Link(Worker& worker, std::span<const std::byte> address, pid_t process, bool shared_memory) {
  ucp_ep_params_t parameters{};
  parameters.field_mask =
      UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
  parameters.address = reinterpret_cast<const ucp_address_t*>(address.data());
  parameters.err_mode = shared_memory ? UCP_ERR_HANDLING_MODE_NONE : UCP_ERR_HANDLING_MODE_PEER;
  parameters.err_handler.cb = on_failure;
  parameters.err_handler.arg = this;
  check(api().ucp_ep_create(worker.handle(), &parameters, &handle_), "cannot reach a rank");
  stores_in_order_ = is_one_stream(describe(handle_));
  if (shared_memory) peer_.watch(process);
}

void Link::on_failure(void* link, ucp_ep_h, ucs_status_t) { static_cast<Link*>(link)->break_off(); }

}  // namespace espalier::transports::ucx
