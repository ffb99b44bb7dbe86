// What preloading costs a program that has nothing to do with MPI, in processor time: /bin/true is started again and
// again, with and without the library in turn. Prints the first quartile of both and their difference, in ms: what else
// runs on the machine takes turns with them.
//
//   build/release/bench/bench_loading $(espalier lib --for ./my_app)
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
enum { ROUNDS = 200 };
static double start(char** environment) {
  char* words[] = {"/bin/true", NULL};
  struct rusage used;
  pid_t child;
  int status;
  if (posix_spawn(&child, words[0], NULL, NULL, words, environment) != 0) exit(2);
  wait4(child, &status, 0, &used);
  if (status != 0) exit(3);
  return (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e3 + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-3;
}
static int order(const void* a, const void* b) { return (*(double*)a > *(double*)b) - (*(double*)a < *(double*)b); }
int main(int count, char** words) {
  static double plain[ROUNDS], loaded[ROUNDS];
  char* nothing[] = {NULL};
  char variable[4096];
  char* preload[] = {variable, NULL};
  if (count != 2) {
    fprintf(stderr, "usage: %s LIBRARY\n", words[0]);
    return 2;
  }
  snprintf(variable, sizeof variable, "LD_PRELOAD=%s", words[1]);
  for (int i = 0; i < ROUNDS; ++i) {
    plain[i] = start(nothing);
    loaded[i] = start(preload);
  }
  qsort(plain, ROUNDS, sizeof *plain, order);
  qsort(loaded, ROUNDS, sizeof *loaded, order);
  const double without = plain[ROUNDS / 4], with = loaded[ROUNDS / 4];
  printf("%.3f ms without, %.3f ms with it: %.3f ms\n", without, with, with - without);
  return 0;
}
