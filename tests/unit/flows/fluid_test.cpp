#include "flows/fluid.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace espalier::flows {
namespace {

struct Sent {
  std::vector<int> route;
  double bytes, when;
};

std::vector<Link> links(std::vector<double> rates, double latency = 1) {
  std::vector<Link> made;
  for (const double rate : rates) made.push_back({rate, latency});
  return made;
}

/// When each has ended, by the order they are given in, which is that of their times.
std::vector<double> ends(Fluid& fluid, const std::vector<Sent>& flows) {
  std::vector<double> ends(flows.size());
  std::vector<std::size_t> ended;
  for (std::size_t sent = 0; sent < flows.size() || fluid.next() < Fluid::never;) {
    if (sent < flows.size() && flows[sent].when <= fluid.next()) {
      fluid.start(sent, flows[sent].route, flows[sent].bytes, flows[sent].when), ++sent;
      continue;
    }
    const double now = fluid.next();
    ended.clear();
    fluid.advance(ended);
    for (const std::size_t name : ended) ends[name] = now;
  }
  return ends;
}

std::vector<double> ends(const std::vector<Link>& links, const std::vector<Sent>& flows) {
  Fluid fluid(links);
  return ends(fluid, flows);
}

TEST(Fluid, AFlowAloneTakesItsLatencyAndItsBytes) {
  EXPECT_DOUBLE_EQ(ends(links({10, 20}), {{{0, 1}, 100, 5}})[0], 5 + 2 + 10);
}

TEST(Fluid, WhatOneLeavesBehindTheOtherTakes) {
  const auto at = ends(links({10}), {{{0}, 100, 0}, {{0}, 200, 0}});
  EXPECT_NEAR(at[0], 1 + 20, 1e-6);
  EXPECT_NEAR(at[1], 1 + 30, 1e-6);
}

TEST(Fluid, WhoIsFartherGetsLessAsInSimGrid) {
  std::vector<Link> two = links({30, 1000});
  const auto at = ends(two, {{{0, 1}, 100, 0}, {{0}, 10000, 0}});  // latencies of 2 and 1: a third and two thirds
  EXPECT_NEAR(at[0], 2 + 10, 1e-6);
}

TEST(Fluid, WhatAFlowCannotUseTheOthersGet) {
  const auto at = ends(links({30, 5}), {{{0, 1}, 50, 0}, {{0}, 275, 0}});
  EXPECT_NEAR(at[0], 2 + 10, 1e-6);
  EXPECT_NEAR(at[1], 2 + (275 - 30) / 25.0, 1e-6);  // alone for one microsecond
}

TEST(Fluid, OneThatCrossesMoreLinksThanAllBeforeSharesThemToo) {
  const auto at = ends(links({10, 4, 100}), {{{0}, 100, 0}, {{0, 1, 2}, 20, 5}});  // latencies of 1 and 3
  EXPECT_NEAR(at[0], 8 + 30 / 7.5, 1e-6);
  EXPECT_NEAR(at[1], 12 + 10 / 4.0, 1e-6);
}

TEST(Fluid, AConnectionHasItsOwnBound) {
  Fluid fluid(links({100}), 10);
  EXPECT_NEAR(ends(fluid, {{{0}, 100, 0}, {{0}, 50, 0}})[0], 1 + 10, 1e-6);
}

TEST(Fluid, ALinkThatIsNotSharedBoundsEachByItself) {
  std::vector<Link> two = links({100, 10});
  two[1].is_shared = false;
  const auto at = ends(two, {{{0, 1}, 100, 0}, {{0, 1}, 100, 0}});
  EXPECT_NEAR(at[1], 2 + 10, 1e-6);
}

/// Fair shares from nothing: the link that leaves least to each of its flows settles those, and so on.
std::vector<double> fair_rates(const std::vector<Link>& links, const std::vector<std::vector<int>>& routes) {
  std::vector<double> rates(routes.size(), -1), left;
  for (const Link& link : links) left.push_back(link.rate);
  const auto weight = [&](std::size_t flow) {
    return 1 / (links[0].latency * static_cast<double>(routes[flow].size()));
  };
  const auto crosses = [&](std::size_t flow, std::size_t link) {
    return std::count(routes[flow].begin(), routes[flow].end(), static_cast<int>(link)) > 0;
  };
  for (;;) {
    double lowest = Fluid::never;
    std::size_t tightest = 0;
    for (std::size_t link = 0; link < links.size(); ++link) {
      double weights = 0;
      for (std::size_t flow = 0; flow < routes.size(); ++flow)
        if (rates[flow] < 0 && crosses(flow, link)) weights += weight(flow);
      if (weights > 0 && left[link] / weights < lowest) lowest = left[link] / weights, tightest = link;
    }
    if (lowest == Fluid::never) return rates;
    for (std::size_t flow = 0; flow < routes.size(); ++flow) {
      if (rates[flow] >= 0 || !crosses(flow, tightest)) continue;
      rates[flow] = lowest * weight(flow);
      for (const int link : routes[flow]) left[static_cast<std::size_t>(link)] -= rates[flow];
    }
  }
}

/// All flows begin at once, and shares are reckoned from nothing whenever one has ended.
std::vector<double> reckon(const std::vector<Link>& links, std::vector<Sent> flows) {
  std::vector<double> ends(flows.size());
  std::vector<std::size_t> moving;
  for (std::size_t flow = 0; flow < flows.size(); ++flow) moving.push_back(flow);
  for (double now = 3 * links[0].latency; !moving.empty();) {
    std::vector<std::vector<int>> routes;
    for (const std::size_t flow : moving) routes.push_back(flows[flow].route);
    const std::vector<double> rates = fair_rates(links, routes);
    double step = Fluid::never;
    for (std::size_t i = 0; i < moving.size(); ++i) step = std::min(step, flows[moving[i]].bytes / rates[i]);
    now += step;
    for (std::size_t i = 0; i < moving.size(); ++i)
      if ((flows[moving[i]].bytes -= step * rates[i]) < 1e-6) ends[moving[i]] = now;
    std::erase_if(moving, [&](std::size_t flow) { return flows[flow].bytes < 1e-6; });
  }
  return ends;
}

TEST(Fluid, SharesAreFairAsReckonedFromNothing) {
  std::mt19937 dice(1);
  for (int turn = 0; turn < 50; ++turn) {
    std::vector<double> rates;
    for (int link = 0; link < 8; ++link) rates.push_back(1 + dice() % 20);
    std::vector<Sent> flows;
    for (int flow = 0; flow < 30; ++flow) {
      std::vector<int> all = {0, 1, 2, 3, 4, 5, 6, 7};
      for (std::size_t i = 0; i < 3; ++i) std::swap(all[i], all[i + dice() % (8 - i)]);
      flows.push_back({{all[0], all[1], all[2]}, 10.0 + dice() % 500, 0});
    }
    const auto at = ends(links(rates), flows), expected = reckon(links(rates), flows);
    for (std::size_t flow = 0; flow < flows.size(); ++flow)
      EXPECT_NEAR(at[flow], expected[flow], 3e-3 * expected[flow]);
  }
}

}  // namespace
}  // namespace espalier::flows
