/* A stand-in for libxpmem.so.0 on machines without its kernel module. It maps shared memory that the caller itself has
 * at the address asked for (which is the neighbour's memory when both inherited it, or are one process), and one page
 * of anybody's private memory as a snapshot: enough to be asked whether it works. FAKE_XPMEM_REFUSE names calls that
 * fail: "make", "get", "attach", or "chunks" for attachments of more than a page. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

enum { page = 4096, most = 256 };

struct xpmem_addr {
  int64_t apid;
  off_t offset;
};

static struct {
  void* begin;
  size_t bytes;
} attachments[most];
static int permissions;

static int refuses(const char* call) {
  const char* refused = getenv("FAKE_XPMEM_REFUSE");
  return refused != NULL && strstr(refused, call) != NULL;
}

int64_t xpmem_make(void* begin, size_t bytes, int type, void* value) {
  (void)begin, (void)bytes, (void)type, (void)value;
  return refuses("make") ? -1 : getpid();
}

int xpmem_remove(int64_t segment) {
  (void)segment;
  return 0;
}

int64_t xpmem_get(int64_t segment, int flags, int type, void* value) {
  (void)flags, (void)type, (void)value;
  if (refuses("get")) return -1;
  ++permissions;
  return segment;
}

int xpmem_release(int64_t permission) {
  (void)permission;
  --permissions;
  return 0;
}

static void* map_snapshot(pid_t owner, void* theirs, size_t bytes) {
  if (bytes > page) return MAP_FAILED;
  void* here = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  struct iovec local = {here, bytes}, remote = {theirs, bytes};
  if (here == MAP_FAILED || process_vm_readv(owner, &local, 1, &remote, 1, 0) == (ssize_t)bytes) return here;
  munmap(here, bytes);
  return MAP_FAILED;
}

void* xpmem_attach(struct xpmem_addr where, size_t bytes, void* wanted) {
  (void)wanted;
  if (refuses("attach") || (refuses("chunks") && bytes > page)) return MAP_FAILED;
  int free_place = 0;
  while (free_place < most && attachments[free_place].begin != NULL) ++free_place;
  if (free_place == most) return MAP_FAILED;
  /* Of a shared mapping, a move of length 0 makes another one of the same pages. */
  void* here = mremap((void*)where.offset, 0, bytes, MREMAP_MAYMOVE);
  if (here == MAP_FAILED) here = map_snapshot((pid_t)where.apid, (void*)where.offset, bytes);
  if (here == MAP_FAILED) return MAP_FAILED;
  attachments[free_place].begin = here;
  attachments[free_place].bytes = bytes;
  return here;
}

int xpmem_detach(void* here) {
  for (int i = 0; i < most; ++i)
    if (attachments[i].begin == here) {
      attachments[i].begin = NULL;
      return munmap(here, attachments[i].bytes);
    }
  return -1;
}

/* For tests: what has not been given back. */
int fake_xpmem_attachments(void) {
  int count = 0;
  for (int i = 0; i < most; ++i) count += attachments[i].begin != NULL;
  return count;
}

int fake_xpmem_permissions(void) { return permissions; }
