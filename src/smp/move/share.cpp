#include "smp/move/share.hpp"

namespace espalier::smp {

using plan::Buffer;

void share_stretches(plan::Builder& builder, Phases& phases, std::span<const Range> stretches) {
  if (builder.node_size() == 1) return;
  const auto of = [&](LocalRank rank) { return stretches[static_cast<std::size_t>(rank.value)]; };
  const LocalRank me = builder.local();
  phases.run([&](LocalRank rank) { return of(rank).bytes; },
             [&](Bytes offset, Bytes bytes, auto put) {
               put(Range{Buffer::output, of(me).offset + offset, bytes}, 0);
             },
             [&](LocalRank writer, Bytes offset, Bytes bytes, auto get) {
               const Bytes at = of(writer).offset + offset;
               if (writer != me) get(Range{Buffer::output, at, bytes}, Source{0, Buffer::output, at});
             });
}

}  // namespace espalier::smp
