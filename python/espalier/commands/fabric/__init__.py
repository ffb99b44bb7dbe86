"""The network: `espalier fabric` about dumps of it, `route` and `routes` through it, `topo` draws it, `serve` answers
questions about it.
"""
