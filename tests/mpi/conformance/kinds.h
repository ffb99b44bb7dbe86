/* The datatypes the themes go through. */
#ifndef ESPALIER_TESTS_KINDS_H
#define ESPALIER_TESTS_KINDS_H

#include <mpi.h>

struct kind {
  const char* name;
  MPI_Datatype type; /* committed; owned by the list */
  int predefined;    /* not to be freed */
  int count_limit;   /* elements that may follow each other without overlapping; 0: any number */
};

struct kinds {
  struct kind kind[64];
  int count;
};

/* MPI's named types, among them the pair types with a hole inside. */
void make_named_kinds(struct kinds* list);

/* Twelve MPI_INTs in every arrangement MPI can describe: one type signature, many type maps. */
void make_twelve_int_kinds(struct kinds* list);

/* Structures of several basic types: out of address order, with holes, with odd bounds. */
void make_record_kinds(struct kinds* list);

/* Types without any data. */
void make_empty_kinds(struct kinds* list);

void free_kinds(struct kinds* list);

#endif
