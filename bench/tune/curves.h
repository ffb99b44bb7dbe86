/* What the files that measure properties of the machine share. */
#ifndef ESPALIER_TUNE_CURVES_H
#define ESPALIER_TUNE_CURVES_H

#include "worker.h"

/* Sorts them. */
double median_of(double* times, int count);

/* Between the points of a curve, in JSON: nothing before the first. */
const char* separator(int* printed);

/* Concurrent allgathers of groups of one rank per node (groups.c): points for each number of groups, way and size;
 * "mb_per_s" is what leaves one node. None on one node. All ranks together. */
void draw_groups(void);

#endif
