/* What other programs take of the processors that the ranks run on. */
#ifndef ESPALIER_BENCH_OTHERS_H
#define ESPALIER_BENCH_OTHERS_H

/* Begins to watch, in the place of an earlier time; all ranks of the job together. */
void watch_others(void);

/* How many processors others, or a virtual machine's host, have kept busy since watch_others, at least: 0.5 is half of
 * one. The same on all ranks, which call it together; 0 where the kernel does not tell (/proc/stat).
 *
 * It is the time of the processors that the ranks may use, less what these idled, less what the ranks themselves took.
 * The kernel tells idle time in hundredths of a second, of which one more is assumed where there were any: in a tenth
 * of a second less than a tenth of a processor may hide, and nothing where ranks never sleep. */
double others_since_watch(void);

/* Whether times are doubtful beside so busy others. Where every rank has a core of its own, when they take a quarter of
 * one more than ranks leave. Where ranks share cores a little is enough: a program that never sleeps gets no more than
 * its share among them, but each time for a whole time slice, and all wait for the rank that it has interrupted. Never
 * between nodes: what a kernel does there for the job's own messages counts as others', too. */
int is_disturbed(double others);

#endif
