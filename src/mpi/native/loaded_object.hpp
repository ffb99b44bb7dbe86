#pragma once
// What is loaded into this process, looked at without the loader: to open an object, even only where it is there
// already, has it begin anew where it has ended, as objects have that end before ours.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <link.h>

namespace espalier::mpi {

class LoadedObject {
 public:
  /// In the loader's order, the program first.
  static std::vector<LoadedObject> all();
  /// The one that an address lies in; none: it is in no object.
  static std::optional<LoadedObject> find_holder(const void* address);

  explicit LoadedObject(const dl_phdr_info& info);

  /// The file, as the loader names it; empty: the program.
  const std::string& name() const { return name_; }
  bool holds(const void* address) const;
  /// What it defines itself by that name, whatever the version; null: nothing.
  const void* find(const char* symbol) const;

 private:
  const void* address_in(std::uint64_t index) const;
  bool is_called(std::uint64_t index, const char* symbol) const;
  const void* find_by_gnu_hash(const char* symbol) const;
  const void* find_in_all(const char* symbol) const;

  std::string name_;
  ElfW(Addr) base_ = 0;
  std::uintptr_t begin_ = 0, end_ = 0;
  const ElfW(Sym) * symbols_ = nullptr;
  const char* names_ = nullptr;
  const std::uint32_t* gnu_hash_ = nullptr;
  const std::uint32_t* hash_ = nullptr;
};

}  // namespace espalier::mpi
