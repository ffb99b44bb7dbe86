"""The network's facts: dumps of an InfiniBand fabric, or a scheduler's tree, in one graph that answers questions.

`load` reads a folder of dumps, `Snapshot.core` is the compiled Fabric; the neighbouring modules view and export it.
"""

from espalier.fabric.loading import Snapshot, load

__all__ = ["Snapshot", "load"]
