#include "transports/ucx/worker.hpp"

#include "base/error.hpp"
#include "transports/ucx/link.hpp"

namespace espalier::transports::ucx {

void check(ucs_status_t status, const char* what) {
  if (status != UCS_OK) throw Error(std::string("UCX ") + what + ": " + api().ucs_status_string(status));
}

Context::Context() {
  ucp_config_t* config = nullptr;
  check(api().ucp_config_read(nullptr, nullptr, &config), "cannot read its settings");
  ucp_params_t parameters{};
  parameters.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME;
  parameters.features = UCP_FEATURE_RMA;
  parameters.name = "espalier";
  const ucs_status_t status = api().ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &parameters, config, &handle_);
  api().ucp_config_release(config);
  check(status, "cannot start");
}

Context::~Context() { api().ucp_cleanup(handle_); }

Worker& Worker::get() {
  static std::mutex mutex;
  static Worker* made = nullptr;
  const std::lock_guard lock(mutex);
  if (made == nullptr) made = new Worker;
  return *made;
}

Worker::Worker() {
  ucp_worker_params_t parameters{};
  parameters.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  parameters.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  check(api_.ucp_worker_create(context_.handle(), &parameters, &handle_), "cannot make a worker");
}

Worker::~Worker() = default;

std::vector<std::byte> Worker::address() const {
  ucp_address_t* address = nullptr;
  std::size_t bytes = 0;
  check(api_.ucp_worker_get_address(handle_, &address, &bytes), "cannot tell its address");
  const auto* begin = reinterpret_cast<const std::byte*>(address);
  std::vector<std::byte> copy(begin, begin + bytes);
  api_.ucp_worker_release_address(handle_, address);
  return copy;
}

Link& Worker::link(std::span<const std::byte> address, pid_t process, bool shared_memory) {
  std::vector<std::byte> key(address.begin(), address.end());
  key.push_back(std::byte{shared_memory});
  std::unique_ptr<Link>& link = links_[std::move(key)];
  if (link == nullptr) link = std::make_unique<Link>(*this, address, process, shared_memory);
  return *link;
}

}  // namespace espalier::transports::ucx
