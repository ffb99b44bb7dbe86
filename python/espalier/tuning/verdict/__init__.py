"""How good the decisions are: whether they hold where a host puts the processors next, against everything on the grid,
against the built-in choice and by MPI's guidelines; and the numbers of a run.
"""
