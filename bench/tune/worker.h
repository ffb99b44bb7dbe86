/* What the files of the tuning worker share. One process is one rank; everything here is per process. */
#ifndef ESPALIER_TUNE_WORKER_H
#define ESPALIER_TUNE_WORKER_H

#include "../common/job.h"
#include "../common/operations.h"

#include <espalier/espalier.h>

enum { MOST_TEXT = 8192 };

/* Prints a JSON text: without quotes, backslashes and what is no printable ASCII. */
void print_text(const char* text);

/* Waits for a message; yields the core where there are more ranks than cores. */
void wait_for(MPI_Request* request);

/* Until all ranks are here. */
void meet(void);

/* ---- measure.c, curves.c -------------------------------------------------------------------------------------------
 */

/* "OP BYTES ROUNDS BATCH_US COLD ARM;ARM;...", OP as the table of operations names it: times the arms interleaved; rank
 * 0 prints one line of JSON. */
void measure(char* arguments);

/* How far apart the first two ranks are, and what others do: rank 0 prints one line of JSON. */
void look(void);

/* "copy", "waiting", "latency", "connections" or "groups": one property of the machine; rank 0 prints one line of JSON.
 */
void draw_curve(const char* name);

#endif
