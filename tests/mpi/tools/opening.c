/* Opens the library that it is given, for itself, and runs it: a program that knows nothing of MPI before. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int (*run)(int, char**) = NULL;
  void* const library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  if (library != NULL) *(void**)&run = dlsym(library, "run");
  if (run == NULL) {
    fprintf(stderr, "opening: %s\n", dlerror());
    return 2;
  }
  return run(argc, argv);
}
