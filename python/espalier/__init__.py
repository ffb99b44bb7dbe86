"""Espalier: fast collectives for any MPI, as a preloaded library. This package is its command."""

__version__ = "0.1.0"
