// The C entry points: MPI's own, which preloading puts in front of the library's, and the explicit ones.

#include "mpi/entry.hpp"

#include <cstdio>

#include "base/error.hpp"
#include "espalier/espalier.h"

using espalier::mpi::Allgather;
using espalier::mpi::Barrier;
using espalier::mpi::Broadcast;
using espalier::mpi::enter;
using espalier::mpi::Native;

#define ESPALIER_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

int broadcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  return enter(Broadcast{buffer, count, type, root, comm},
               [&](const Native& mpi) { return mpi.Bcast(buffer, count, type, root, comm); });
}

int allgather(const void* send_buffer, int send_count, MPI_Datatype send_type, void* receive_buffer, int receive_count,
              MPI_Datatype receive_type, MPI_Comm comm) {
  return enter(Allgather{send_buffer, send_count, send_type, receive_buffer, receive_count, receive_type, comm},
               [&](const Native& mpi) {
                 return mpi.Allgather(send_buffer, send_count, send_type, receive_buffer, receive_count, receive_type,
                                      comm);
               });
}

int barrier(MPI_Comm comm) {
  return enter(Barrier{comm}, [&](const Native& mpi) { return mpi.Barrier(comm); });
}

int describe(const char* operation, MPI_Aint bytes, int root, MPI_Comm comm, char* text, int length) {
  if (espalier::mpi::find_native() == nullptr) return MPI_ERR_INTERN;
  if (bytes < 0 || root < 0 || text == nullptr || length < 1) return MPI_ERR_ARG;
  try {
    const espalier::plan::Problem problem{espalier::plan::parse_operation(operation),
                                          static_cast<espalier::Bytes>(bytes), espalier::Rank(root)};
    std::snprintf(text, static_cast<std::size_t>(length), "%s", espalier::mpi::describe_call(problem, comm).c_str());
    return MPI_SUCCESS;
  } catch (const espalier::Error&) {
    return MPI_ERR_ARG;
  } catch (const std::exception&) {
    return MPI_ERR_NO_MEM;
  }
}

}  // namespace

ESPALIER_EXPORT int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  return broadcast(buffer, count, type, root, comm);
}
ESPALIER_EXPORT int Espalier_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  return broadcast(buffer, count, type, root, comm);
}

ESPALIER_EXPORT int MPI_Allgather(const void* send_buffer, int send_count, MPI_Datatype send_type, void* receive_buffer,
                                  int receive_count, MPI_Datatype receive_type, MPI_Comm comm) {
  return allgather(send_buffer, send_count, send_type, receive_buffer, receive_count, receive_type, comm);
}
ESPALIER_EXPORT int Espalier_Allgather(const void* send_buffer, int send_count, MPI_Datatype send_type,
                                       void* receive_buffer, int receive_count, MPI_Datatype receive_type,
                                       MPI_Comm comm) {
  return allgather(send_buffer, send_count, send_type, receive_buffer, receive_count, receive_type, comm);
}

ESPALIER_EXPORT int MPI_Barrier(MPI_Comm comm) { return barrier(comm); }
ESPALIER_EXPORT int Espalier_Barrier(MPI_Comm comm) { return barrier(comm); }

ESPALIER_EXPORT int Espalier_Describe(const char* operation, MPI_Aint bytes, int root, MPI_Comm comm, char* text,
                                      int length) {
  return describe(operation, bytes, root, comm, text, length);
}

#if ESPALIER_HAS_LARGE_COUNTS
// A program that calls these runs on a library that has them, so the native pointers are there when they are needed.
ESPALIER_EXPORT int MPI_Bcast_c(void* buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm) {
  return enter(Broadcast{buffer, count, type, root, comm},
               [&](const Native& mpi) { return mpi.Bcast_c(buffer, count, type, root, comm); });
}

ESPALIER_EXPORT int MPI_Allgather_c(const void* send_buffer, MPI_Count send_count, MPI_Datatype send_type,
                                    void* receive_buffer, MPI_Count receive_count, MPI_Datatype receive_type,
                                    MPI_Comm comm) {
  return enter(Allgather{send_buffer, send_count, send_type, receive_buffer, receive_count, receive_type, comm},
               [&](const Native& mpi) {
                 return mpi.Allgather_c(send_buffer, send_count, send_type, receive_buffer, receive_count, receive_type,
                                        comm);
               });
}
#endif
