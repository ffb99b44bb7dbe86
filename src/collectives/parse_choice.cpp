// Choices as text: "chain,segment=64K,cells=8".

#include <algorithm>
#include <charconv>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "collectives/registry.hpp"
#include "collectives/words.hpp"

namespace espalier::collectives {

using plan::Within;

namespace {

int parse_count(std::string_view knob, std::string_view value, int least, int most) {
  int number = 0;
  const auto [end, status] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (status != std::errc{} || end != value.data() + value.size() || number < least || number > most)
    throw Error(std::string(knob) + "=" + std::string(value) + ": write a whole number from " + std::to_string(least) +
                " to " + std::to_string(most));
  return number;
}

Bytes parse_size(std::string_view knob, std::string_view value, Bytes least, Bytes most) {
  const Bytes bytes = parse_bytes(value);
  if (bytes < least || bytes > most)
    throw Error(std::string(knob) + "=" + std::string(value) + ": write a size from " + format_bytes(least) + " to " +
                format_bytes(most));
  return bytes;
}

Within parse_within(std::string_view value) {
  for (const Within within : {Within::cells, Within::single_copy})
    if (value == name(within)) return within;
  throw Error("within=" + std::string(value) + ": one of cells, single_copy");
}

plan::Stores parse_stores(std::string_view value) {
  for (const plan::Stores stores : {plan::Stores::cached, plan::Stores::streaming})
    if (value == name(stores)) return stores;
  throw Error("stores=" + std::string(value) + ": one of cached, streaming");
}

plan::Exchange parse_exchange(std::string_view value) {
  using plan::Exchange;
  for (const Exchange exchange : {Exchange::direct, Exchange::ring, Exchange::bruck, Exchange::recursive_doubling})
    if (value == name(exchange)) return exchange;
  throw Error("exchange=" + std::string(value) + ": one of direct, ring, bruck, recursive_doubling");
}

plan::Staging parse_staging(std::string_view value) {
  using plan::Staging;
  for (const Staging staging : {Staging::automatic, Staging::copy, Staging::zero_copy})
    if (value == name(staging)) return staging;
  throw Error("staging=" + std::string(value) + ": one of auto, copy, zero_copy");
}

plan::Leaders parse_leaders(std::string_view value) {
  using plan::Leaders;
  for (const Leaders leaders : {Leaders::natural, Leaders::near, Leaders::spread})
    if (value == name(leaders)) return leaders;
  throw Error("leaders=" + std::string(value) + ": one of natural, near, spread");
}

plan::Order parse_order(std::string_view value) {
  using plan::Order;
  for (const Order order : {Order::best, Order::natural, Order::breadth, Order::depth, Order::bine})
    if (value == name(order)) return order;
  throw Error("order=" + std::string(value) + ": one of auto, natural, breadth, depth, bine");
}

void set_knob(Choice& choice, std::string_view knob, std::string_view value) {
  if (knob == "radix")
    choice.radix = parse_count(knob, value, 2, 64);
  else if (knob == "segment")
    choice.segment = value == "0" ? 0 : parse_size(knob, value, Bytes{1} << 10, Bytes{1} << 30);
  else if (knob == "within")
    choice.within = parse_within(value);
  else if (knob == "cell")
    choice.cell = parse_size(knob, value, 64, Bytes{64} << 20);
  else if (knob == "cells")
    choice.cells = parse_count(knob, value, 1, 1024);
  else if (knob == "groups")
    choice.groups = parse_count(knob, value, 1, 64);
  else if (knob == "exchange")
    choice.exchange = parse_exchange(value);
  else if (knob == "connections")
    choice.connections = parse_count(knob, value, 0, 1024);
  else if (knob == "staging")
    choice.staging = parse_staging(value);
  else if (knob == "leaders")
    choice.leaders = parse_leaders(value);
  else if (knob == "order")
    choice.order = parse_order(value);
  else if (knob == "stores")
    choice.stores = parse_stores(value);
  else if (knob == "levels")
    choice.levels = parse_count(knob, value, 1, 2);
  else
    throw Error(
        "unknown knob '" + std::string(knob) +
        "': one of radix, segment, within, cell, cells, groups, exchange, connections, staging, leaders, order, "
        "stores, levels");
}

}  // namespace

Choice parse_choice(Operation operation, std::string_view text) {
  Choice choice;
  const std::size_t comma = std::min(text.find(','), text.size());
  choice.between = find_algorithm(operation, text.substr(0, comma)).between;
  for (std::size_t begin = comma + 1; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view item = text.substr(begin, end - begin);
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos) throw Error("'" + std::string(item) + "' is not a knob: write knob=value");
    set_knob(choice, item.substr(0, equals), item.substr(equals + 1));
    begin = end + 1;
  }
  return choice;
}

}  // namespace espalier::collectives
