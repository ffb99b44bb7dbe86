"""The four papers, and what their authors measured on."""

from __future__ import annotations

from espalier.papers.figure import Paper

PAPERS = {
    "groups": Paper(
        "Multi-connection allgather",
        "Qian, Rashti, Afsahi: Multi-connection and multi-core aware all-gather on InfiniBand clusters (PDCS 2008)",
        "4 nodes of two dual-core Xeons, ConnectX InfiniBand, MVAPICH 1.0",
    ),
    "trees": Paper(
        "Network-aware trees",
        "Subramoni, Kandalla, Vienne, Sur, Barth, Tomko, McLay, Schulz, Panda: Design and evaluation of network "
        "topology-/speed-aware broadcast algorithms for InfiniBand clusters (Cluster 2011)",
        "Ranger (3936 nodes of 16 cores, SDR InfiniBand) and Glenn (877 SDR and 650 DDR nodes), MVAPICH2",
    ),
    "smp": Paper(
        "Tunable collectives on clusters of SMPs",
        "Wu, Kendall, Aluru: A tunable collective communication framework on a cluster of SMPs (PDCN 2004)",
        "IBM SP, nodes of 16 processors, the vendor's MPI",
    ),
    "leaders": Paper(
        "NIC-near leaders",
        "Goglin, Moreaud: Dodging non-uniform I/O access in hierarchical collective operations for multicore clusters "
        "(CASS 2011)",
        "8 nodes of four dual-core Opterons, ConnectX DDR InfiniBand near the second, Open MPI 1.5",
    ),
}
