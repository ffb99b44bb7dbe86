"""What there is to decide, in an order that makes a half-finished table useful; what could be selected: the catalogue's
algorithms, their knobs on a grid, as far as they apply; and MPI's performance guidelines between problems. Pure.
"""
