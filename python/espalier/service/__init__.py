"""The topology service: `espalier serve` keeps a fabric's newest good dumps and answers questions about it.

dumps in a folder ──► Keeper ──► FabricEngine ──► FabricServer: lines over TCP and Unix sockets (compiled)
                         │                   └──► http: the same as JSON, /metrics, a page
                         └── what is not good is not taken; the last good snapshot goes on answering
"""
