"""NEURON's usual test: cells in a ring excite each other; spikes are exchanged each millisecond of the model's time."""

import sys
import time

from neuron import h

h.nrnmpi_init()
context = h.ParallelContext()
me, ranks = int(context.id()), int(context.nhost())
cells, milliseconds = int(sys.argv[1]), float(sys.argv[2])
kept, synapses, spikes, who = [], [], h.Vector(), h.Vector()
for gid in range(me, cells, ranks):
    soma = h.Section(name=f"soma{gid}")
    soma.L = soma.diam = 12.6
    soma.insert("hh")
    synapse = h.ExpSyn(soma(0.5))
    synapse.tau = 2
    context.set_gid2node(gid, me)
    spike = h.NetCon(soma(0.5)._ref_v, None, sec=soma)
    context.cell(gid, spike)
    kept += [soma, spike]
    synapses.append((gid, synapse))
for gid, synapse in synapses:
    before = context.gid_connect((gid - 1) % cells, synapse)
    before.weight[0], before.delay = 0.05, 1
    kept += [synapse, before]
    if gid % 16 == 0:
        start = h.NetStim()
        start.number, start.start = 1, 0
        first = h.NetCon(start, synapse)
        first.weight[0], first.delay = 0.05, 1
        kept += [start, first]
context.spike_record(-1, spikes, who)
context.set_maxstep(10)
h.finitialize(-65)
begin = time.perf_counter()
context.psolve(milliseconds)
seconds = time.perf_counter() - begin
count = context.allreduce(spikes.size(), 1)
last = context.allreduce(spikes.max() if spikes.size() else 0.0, 2)
if me == 0:
    print(f"{int(count)} spikes, the last at {last:.6f} ms")
    print(f"simulated in {seconds:.6f} s")
context.barrier()
h.quit()
