"""Tuning: which selection is fastest for each operation, size and shape, measured on the user's machine and MPI.

problems       what there is to decide, what could be selected for it, and what must hold between operations
environment    where the job's ranks sit, what messages cost there, and what else goes on meanwhile
search         who is fastest: losers leave early, and in the end a duel with native decides; all of it journalled
uneven         blocks of different sizes: measured against native, not searched
table          from decisions to a file, and back
verdict        how good it is: elsewhere, beside everything that was not selected, by MPI's guidelines, in numbers
session        all of it together; legs: a session for each transport

Each folder uses those above it only. The job that measures is espalier.measure.worker's.
"""
