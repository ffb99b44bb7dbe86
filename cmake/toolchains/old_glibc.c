/* What this machine's libstdc++ and libgcc, which are linked in, want of a glibc younger than that which programs shall
 * run with. Hidden: every binary has its own. */

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

#pragma GCC visibility push(hidden)

/* Since 2.32. Never sure that there is one thread only, so that reference counts are always atomic. */
char __libc_single_threaded = 0;

/* Since 2.36, for std::random_device. Nor does glibc go on where the kernel gives no bits. */
uint32_t arc4random(void) {
  uint32_t bits;
  if (getrandom(&bits, sizeof bits, 0) != (ssize_t)sizeof bits) abort();
  return bits;
}

struct search {
  uintptr_t address;
  struct dl_find_object* found;
};

static int look(struct dl_phdr_info* info, size_t size, void* argument) {
  (void)size;
  const struct search* search = argument;
  int is_here = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)* part = &info->dlpi_phdr[i];
    const uintptr_t begin = info->dlpi_addr + part->p_vaddr;
    if (part->p_type == PT_LOAD && search->address >= begin && search->address - begin < part->p_memsz) {
      search->found->dlfo_map_start = (void*)begin;
      search->found->dlfo_map_end = (void*)(begin + part->p_memsz);
      is_here = 1;
    } else if (part->p_type == PT_GNU_EH_FRAME) {
      search->found->dlfo_eh_frame = (void*)begin;
    }
  }
  return is_here;
}

/* Since 2.35: where the tables for unwinding lie. libgcc, which asks when an exception is thrown, looks nowhere else.
 */
int _dl_find_object(void* address, struct dl_find_object* found) {
  struct search search = {(uintptr_t)address, found};
  found->dlfo_flags = 0;
  found->dlfo_link_map = NULL;
  found->dlfo_eh_frame = NULL;
  return dl_iterate_phdr(look, &search) && found->dlfo_eh_frame != NULL ? 0 : -1;
}

#pragma GCC visibility pop
