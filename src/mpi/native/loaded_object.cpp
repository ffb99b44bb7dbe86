#include "mpi/native/loaded_object.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace espalier::mpi {
namespace {

int add(dl_phdr_info* info, std::size_t, void* objects) {
  static_cast<std::vector<LoadedObject>*>(objects)->emplace_back(*info);
  return 0;
}

/// As the linker's --hash-style=gnu has it.
std::uint32_t gnu_hash_of(const char* symbol) {
  std::uint32_t hash = 5381;
  for (; *symbol != '\0'; ++symbol) hash = hash * 33 + static_cast<unsigned char>(*symbol);
  return hash;
}

}  // namespace

std::vector<LoadedObject> LoadedObject::all() {
  std::vector<LoadedObject> objects;
  dl_iterate_phdr(add, &objects);
  return objects;
}

std::optional<LoadedObject> LoadedObject::find_holder(const void* address) {
  for (LoadedObject& it : all())
    if (it.holds(address)) return std::move(it);
  return std::nullopt;
}

LoadedObject::LoadedObject(const dl_phdr_info& info)
    : name_(info.dlpi_name == nullptr ? "" : info.dlpi_name), base_(info.dlpi_addr) {
  const ElfW(Dyn)* entry = nullptr;
  begin_ = UINTPTR_MAX;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info.dlpi_phdr[i];
    const std::uintptr_t begin = base_ + part.p_vaddr;
    if (part.p_type == PT_DYNAMIC) entry = reinterpret_cast<const ElfW(Dyn)*>(begin);
    if (part.p_type != PT_LOAD) continue;
    begin_ = std::min(begin_, begin);
    end_ = std::max(end_, begin + part.p_memsz);
  }
  for (; entry != nullptr && entry->d_tag != DT_NULL; ++entry) {
    // The loader has put addresses here, but where the table is not to be written to.
    const std::uintptr_t value = entry->d_un.d_ptr, address = value < begin_ ? value + base_ : value;
    if (entry->d_tag == DT_SYMTAB) symbols_ = reinterpret_cast<const ElfW(Sym)*>(address);
    if (entry->d_tag == DT_STRTAB) names_ = reinterpret_cast<const char*>(address);
    if (entry->d_tag == DT_GNU_HASH) gnu_hash_ = reinterpret_cast<const std::uint32_t*>(address);
    if (entry->d_tag == DT_HASH) hash_ = reinterpret_cast<const std::uint32_t*>(address);
  }
}

bool LoadedObject::holds(const void* address) const {
  const auto value = reinterpret_cast<std::uintptr_t>(address);
  return value >= begin_ && value < end_;
}

const void* LoadedObject::find(const char* symbol) const {
  if (symbols_ == nullptr || names_ == nullptr) return nullptr;
  return gnu_hash_ != nullptr ? find_by_gnu_hash(symbol) : find_in_all(symbol);
}

const void* LoadedObject::address_in(std::uint64_t index) const {
  return reinterpret_cast<const void*>(base_ + symbols_[index].st_value);
}

bool LoadedObject::is_called(std::uint64_t index, const char* symbol) const {
  return symbols_[index].st_shndx != SHN_UNDEF && std::strcmp(names_ + symbols_[index].st_name, symbol) == 0;
}

// Four numbers, a filter, the first symbol of each bucket, and the hash of every symbol that others may find: its
// lowest bit says that it is its bucket's last.
const void* LoadedObject::find_by_gnu_hash(const char* symbol) const {
  const std::uint32_t buckets = gnu_hash_[0], first = gnu_hash_[1], words = gnu_hash_[2], hash = gnu_hash_of(symbol);
  const std::uint32_t* const firsts = gnu_hash_ + 4 + words * (sizeof(ElfW(Addr)) / sizeof(std::uint32_t));
  const std::uint32_t* const hashes = firsts + buckets;
  if (buckets == 0 || firsts[hash % buckets] < first) return nullptr;
  for (std::uint32_t index = firsts[hash % buckets];; ++index) {
    const std::uint32_t theirs = hashes[index - first];
    if ((theirs | 1) == (hash | 1) && is_called(index, symbol)) return address_in(index);
    if ((theirs & 1) != 0) return nullptr;
  }
}

// The older table of hashes says how many there are.
const void* LoadedObject::find_in_all(const char* symbol) const {
  for (std::uint32_t index = 1; hash_ != nullptr && index < hash_[1]; ++index)
    if (is_called(index, symbol)) return address_in(index);
  return nullptr;
}

}  // namespace espalier::mpi
