"""A cluster on one machine: network namespaces as nodes, a bridge as switch, links shaped to a rate.

    node0        node1        node2            each: own network and host name, a veth pair, address 10.77.0.10 + n
      |            |            |              both ends of each pair: htb at the link's rate, small packets
    ──┴────────────┴────────────┴── bridge
                   |
                 front                         where mpiexec runs; not shaped, no ranks

Everything carries the same prefix, so that taking it down needs no memory of how it was put up.
"""
