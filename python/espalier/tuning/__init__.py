"""Tuning: which selection is fastest for each operation, size and shape, measured on the user's machine and MPI.

problems      what there is to decide, in an order that makes a half-finished table useful
place         where the job's ranks sit, and what messages cost between nodes
worker        the job that measures (bench/tune/), and the conversation with it
candidates    what could be selected: the registry's algorithms, their knobs on a grid, what applies here
racing        who is fastest: losers leave early, and in the end a duel with native decides
forms         blocks of different sizes: measured against native, not searched
sampling      how far a pick is from the best of everything, on a few problems
guidelines    what must hold between operations, MPI's performance guidelines, and whether a violation is real
table         from decisions to a file, and back
journal       what has been decided so far, so that an interrupted run can go on
session       all of it together
"""
