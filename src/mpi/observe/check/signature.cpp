#include "mpi/observe/check/signature.hpp"

#include <optional>
#include <vector>

namespace espalier::mpi {
namespace {

using GetName = int(MPI_Datatype, char*, int*);
using GetEnvelope = int(MPI_Datatype, int*, int*, int*, int*);
using GetContents = int(MPI_Datatype, int, int, int, int*, MPI_Aint*, MPI_Datatype*);

/// Of MPI's own, which only this asks for. Null: it has none.
template <class Function>
Function* find(const char* name) {
  return reinterpret_cast<Function*>(find_symbol(name));
}

std::string name_of(MPI_Datatype type) {
  static GetName* const get_name = find<GetName>("PMPI_Type_get_name");
  char name[MPI_MAX_OBJECT_NAME + 1] = {};
  int length = 0;
  if (get_name == nullptr || get_name(type, name, &length) != MPI_SUCCESS) return {};
  return name;
}

struct Envelope {
  int integers = 0, addresses = 0, types = 0, combiner = MPI_COMBINER_NAMED;
};

std::optional<Envelope> envelope_of(MPI_Datatype type) {
  static GetEnvelope* const get = find<GetEnvelope>("PMPI_Type_get_envelope");
  Envelope found;
  if (get == nullptr || get(type, &found.integers, &found.addresses, &found.types, &found.combiner) != MPI_SUCCESS)
    return std::nullopt;
  return found;
}

/// Ones that were made for the asker are the asker's to free.
void release(MPI_Datatype type) {
  const std::optional<Envelope> envelope = envelope_of(type);
  if (envelope && envelope->combiner != MPI_COMBINER_NAMED) native().Type_free(&type);
}

/// Those that a type is made of.
std::vector<MPI_Datatype> parts_of(MPI_Datatype type, const Envelope& envelope) {
  static GetContents* const get = find<GetContents>("PMPI_Type_get_contents");
  std::vector<int> integers(static_cast<std::size_t>(envelope.integers) + 1);
  std::vector<MPI_Aint> addresses(static_cast<std::size_t>(envelope.addresses) + 1);
  std::vector<MPI_Datatype> types(static_cast<std::size_t>(envelope.types), native().datatype_null);
  if (get == nullptr || types.empty() ||
      get(type, envelope.integers, envelope.addresses, envelope.types, integers.data(), addresses.data(),
          types.data()) != MPI_SUCCESS)
    return {};
  return types;
}

}  // namespace

std::string base_type(MPI_Datatype type) {
  const std::optional<Envelope> envelope = envelope_of(type);
  if (!envelope) return {};
  if (envelope->combiner == MPI_COMBINER_NAMED) return name_of(type);
  std::string base;
  bool is_mixed = false;
  for (const MPI_Datatype part : parts_of(type, *envelope)) {
    const std::string name = base_type(part);
    is_mixed = is_mixed || name.empty() || (!base.empty() && base != name);
    base = name;
    release(part);
  }
  return is_mixed ? "" : base;
}

std::string name_operation(MPI_Op op) {
  const struct {
    MPI_Op op;
    const char* name;
  } known[] = {{MPI_SUM, "MPI_SUM"},   {MPI_PROD, "MPI_PROD"}, {MPI_MAX, "MPI_MAX"},       {MPI_MIN, "MPI_MIN"},
               {MPI_LAND, "MPI_LAND"}, {MPI_LOR, "MPI_LOR"},   {MPI_LXOR, "MPI_LXOR"},     {MPI_BAND, "MPI_BAND"},
               {MPI_BOR, "MPI_BOR"},   {MPI_BXOR, "MPI_BXOR"}, {MPI_MAXLOC, "MPI_MAXLOC"}, {MPI_MINLOC, "MPI_MINLOC"}};
  for (const auto& it : known)
    if (it.op == op) return it.name;
  return "an own MPI_Op";
}

}  // namespace espalier::mpi
