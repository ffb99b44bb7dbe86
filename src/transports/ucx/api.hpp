#pragma once
// The functions of libucp, looked up by name: the library that uses them loads where UCX is absent.

#include <ucp/api/ucp.h>

namespace espalier::transports::ucx {

// Every function we use, once. Those of 1.11 and later only, so that the UCX of most systems will do.
#define ESPALIER_UCX_FUNCTIONS(each)                                                                                 \
  each(ucp_get_version) each(ucp_config_read) each(ucp_config_release) each(ucp_init_version) each(ucp_cleanup)      \
      each(ucp_worker_create) each(ucp_worker_destroy) each(ucp_worker_get_address) each(ucp_worker_release_address) \
          each(ucp_worker_progress) each(ucp_ep_create) each(ucp_ep_print_info) each(ucp_ep_flush_nbx)               \
              each(ucp_ep_rkey_unpack) each(ucp_rkey_destroy) each(ucp_rkey_pack) each(ucp_rkey_buffer_release)      \
                  each(ucp_mem_map) each(ucp_mem_query) each(ucp_mem_unmap) each(ucp_put_nbx) each(ucp_request_free) \
                      each(ucs_status_string)

/// Named like the functions themselves, without their prefix's magic: api().ucp_put_nbx(…).
struct Api {
#define ESPALIER_UCX_MEMBER(name) decltype(&::name) name = nullptr;
  ESPALIER_UCX_FUNCTIONS(ESPALIER_UCX_MEMBER)
#undef ESPALIER_UCX_MEMBER
};

/// Loads libucp with the first call, which throws Error when that fails or its version will not do, and keeps it: UCX
/// leaves hooks in the process that must not lose their code. Where the process has one already, as a part of its MPI,
/// that one is used: two would patch the same functions of the C library. Any thread.
const Api& api();

}  // namespace espalier::transports::ucx
