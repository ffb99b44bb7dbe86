/* libespalier-any: preloaded into every program of a site, it puts the build of Espalier that fits the program's MPI in
 * front of it, by starting the program again with another LD_PRELOAD. See README.md here.
 *
 * It never fails: whatever it cannot do leaves the program as it is. It is linked to run first (-z initfirst), before
 * the initialisers of the program's MPI, which may take 50 ms and would run twice; and so before libc's own. Hence no
 * getenv, setenv, malloc or streams: only functions that need nothing to be set up. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { longest_value = 16384, most_variables = 16384 };

/* What a library of MPI is called in each of the binary interfaces, and our build for that: the beginning of its name,
 * and what ends it but for further numbers. jobs/mpis.py has the same. */
static const struct {
  const char* beginning;
  const char* version;
  const char* build;
} known[] = {
    {"libmpi_abi", ".so", "abi"},   {"libmpi", ".so.12", "mpich"},   {"libmpich", ".so.12", "mpich"},
    {"libmpi_", ".so.12", "mpich"}, {"libmpi", ".so.20", "openmpi"}, {"libmpi", ".so.40", "openmpi"},
};

static const char* base_name(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash != NULL ? slash + 1 : path;
}

static int begins(const char* text, const char* with) { return strncmp(text, with, strlen(with)) == 0; }

/* The build for one loaded object; NULL for what is no MPI. */
static const char* build_for(const char* path) {
  const char* name = base_name(path);
  const char* version = strstr(name, ".so");
  if (version == NULL) return NULL;
  for (size_t i = 0; i < sizeof known / sizeof known[0]; ++i) {
    const char* beginning = known[i].beginning;
    const size_t length = strlen(beginning);
    const int is_family = beginning[length - 1] == '_'; /* libmpi_cray.so.12 and its like */
    if (!begins(name, beginning) || (!is_family && name + length != version)) continue;
    const size_t end = strlen(known[i].version);
    if (begins(version, known[i].version) && (version[end] == '\0' || version[end] == '.')) return known[i].build;
  }
  return NULL;
}

struct found {
  const char* build;
  int is_ambiguous; /* libraries of several interfaces: somebody knows more than we do */
};

static int look_at(struct dl_phdr_info* object, size_t size, void* result) {
  (void)size;
  struct found* found = result;
  const char* build = object->dlpi_name != NULL ? build_for(object->dlpi_name) : NULL;
  if (build == NULL) return 0;
  if (found->build != NULL && strcmp(found->build, build) != 0) found->is_ambiguous = 1;
  found->build = build;
  return 0;
}

/* The file of the build beside this one. Nonzero where it is. */
static int find_build(const char* build, char* path, size_t room) {
  Dl_info own;
  if (dladdr((const void*)&find_build, &own) == 0 || own.dli_fname == NULL) return 0;
  const int folder = (int)(base_name(own.dli_fname) - own.dli_fname);
  static const char* const endings[] = {".so.0", ".so"};
  for (int i = 0; i < 2; ++i) {
    const int length = snprintf(path, room, "%.*slibespalier-%s%s", folder, own.dli_fname, build, endings[i]);
    if (length > 0 && (size_t)length < room && access(path, R_OK) == 0) return 1;
  }
  return 0;
}

static int is_any(const char* entry) { return strncmp(base_name(entry), "libespalier-any.so", 18) == 0; }

static int is_build(const char* entry) { return !is_any(entry) && strncmp(base_name(entry), "libespalier-", 12) == 0; }

/* Whether an entry is some copy of the build, the site's or somebody's own. */
static int is_build_of(const char* entry, const char* build) {
  const size_t length = strlen(build);
  return is_build(entry) && strncmp(base_name(entry) + 12, build, length) == 0 &&
         strncmp(base_name(entry) + 12 + length, ".so", 3) == 0;
}

/* Writes `before` with the build at `path` behind our own name and without other builds of ours. Nonzero if the program
 * is to be started with that: it has not the right one, and that one only, and nothing there speaks against it. */
static int derive_preload(const char* before, const char* build, const char* path, char* after, size_t room) {
  char words[longest_value];
  int right = 0;
  int wrong = 0;
  char* rest = NULL;
  if (strlen(before) >= sizeof words) return 0;
  strcpy(words, before);
  const int written = snprintf(after, room, "%s", path);
  size_t end = written > 0 ? (size_t)written : room;
  for (char* word = strtok_r(words, ": ", &rest); word != NULL; word = strtok_r(NULL, ": ", &rest)) {
    if (strstr(word, "vgpreload") != NULL) return 0; /* Valgrind would be lost */
    right += is_build_of(word, build);
    wrong += is_build(word) && !is_build_of(word, build);
    if (is_build(word)) continue;
    const size_t length = strlen(word);
    if (end + length + 2 > room) return 0;
    /* Our own name stays first, so that what this program starts is looked at, too. */
    const int is_first = is_any(word);
    memmove(after + (is_first ? length + 1 : 0), after, end + 1);
    memcpy(after + (is_first ? 0 : end + 1), word, length);
    after[is_first ? length : end] = ':';
    end += length + 1;
    after[end] = '\0';
  }
  return right == 0 || wrong > 0;
}

/* The value of a variable; NULL where there is none. */
static const char* find_variable(char** environment, const char* name) {
  const size_t length = strlen(name);
  for (char** it = environment; *it != NULL; ++it)
    if (strncmp(*it, name, length) == 0 && (*it)[length] == '=') return *it + length + 1;
  return NULL;
}

/* Starts the program again with these words and this LD_PRELOAD; returns where that cannot be. */
static void start_again(char** arguments, char** environment, char* preload) {
  char program[PATH_MAX];
  char* variables[most_variables];
  size_t count = 0;
  const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  if (length <= 0) return;
  program[length] = '\0';
  if (begins(base_name(program), "ld-")) return; /* the loader, called by name: the words are not the program's */
  for (char** it = environment; *it != NULL; ++it) {
    if (begins(*it, "LD_PRELOAD=")) continue;
    if (count + 2 >= most_variables) return;
    variables[count++] = *it;
  }
  variables[count++] = preload;
  variables[count] = NULL;
  execve(program, arguments, variables);
}

static int is_set(const char* value) { return value != NULL && *value != '\0' && strcmp(value, "0") != 0; }

/* Whether this process is to speak, where all of a job would: the first of those that a launcher has numbered. */
static int is_first(char** environment) {
  static const char* const numbers[] = {"PMI_RANK",     "PMIX_RANK",      "OMPI_COMM_WORLD_RANK",
                                        "SLURM_PROCID", "FLUX_TASK_RANK", "PALS_RANKID"};
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i)
    if (is_set(find_variable(environment, numbers[i]))) return 0;
  return 1;
}

static int is_asked_for(char** environment) {
  for (char** it = environment; *it != NULL; ++it)
    if (begins(*it, "ESPALIER_")) return 1;
  return 0;
}

static int is_ours(struct dl_phdr_info* object, size_t size, void* result) {
  (void)size;
  return *(int*)result |= object->dlpi_name != NULL && is_build(object->dlpi_name);
}

/* At the end of a program that has opened its MPI later than we could do something for it: whoever has given a setting
 * of ours is told why it does nothing. */
__attribute__((destructor)) static void tell_of_late_mpi(void) {
  struct found found = {NULL, 0};
  char path[PATH_MAX];
  int has_build = 0;
  if (!is_asked_for(environ) || !is_first(environ) || is_set(find_variable(environ, "ESPALIER_DISABLE"))) return;
  dl_iterate_phdr(is_ours, &has_build);
  dl_iterate_phdr(look_at, &found);
  if (has_build || found.build == NULL || found.is_ambiguous || !find_build(found.build, path, sizeof path)) return;
  dprintf(STDERR_FILENO,
          "espalier: the program has opened its MPI by itself, which libespalier-any.so cannot foresee, and was left "
          "alone; name the build: LD_PRELOAD=%s\n",
          path);
}

__attribute__((constructor)) static void choose(int count, char** arguments, char** environment) {
  (void)count;
  struct found found = {NULL, 0};
  char path[PATH_MAX];
  char after[2 * longest_value] = "LD_PRELOAD=";
  const size_t name = strlen(after);
  if (is_set(find_variable(environment, "ESPALIER_DISABLE"))) return;
  dl_iterate_phdr(look_at, &found);
  if (found.build == NULL || found.is_ambiguous || !find_build(found.build, path, sizeof path)) return;
  const char* before = find_variable(environment, "LD_PRELOAD");
  if (!derive_preload(before != NULL ? before : "", found.build, path, after + name, sizeof after - name)) return;
  start_again(arguments, environment, after);
}
