#include "transports/blocks.hpp"

#include <bit>

namespace espalier::transports {

// Up to 16 pages each number is a class; from there on eight between powers of two.
Pages BlockList::rounded(Pages pages) {
  if (pages <= 16) return pages;
  const int shift = std::bit_width(pages - 1) - 4;
  const Pages step = Pages{1} << shift;
  return (pages + step - 1) / step * step;
}

int BlockList::class_of(Pages pages) {
  if (pages <= 16) return static_cast<int>(pages) - 1;
  const int shift = std::bit_width(pages - 1) - 4;
  return 8 * shift + static_cast<int>((pages - 1) >> shift);
}

Pages BlockList::take_free(Block* table, int from_class) {
  Pages& head = free_[from_class];
  const Pages first = head;
  if (first != 0) head = table[first].next;
  return first;
}

Pages BlockList::take(Block* table, Pages pages) {
  pages = rounded(pages);
  const int own = class_of(pages);
  if (const Pages first = take_free(table, own)) return first;
  if (pages <= span_ - top_) {
    const Pages first = top_;
    table[first].pages = pages;
    top_ += pages;
    return first;
  }
  for (int larger = own + 1; larger < classes; ++larger)
    if (const Pages first = take_free(table, larger)) return first;
  return 0;
}

void BlockList::give_back(Block* table, Pages first) {
  Pages& head = free_[class_of(table[first].pages)];
  table[first].next = head;
  head = first;
}

}  // namespace espalier::transports
