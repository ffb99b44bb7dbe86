#include "tune/day.hpp"

#include <chrono>
#include <cstdio>

#include "base/error.hpp"

namespace espalier::tune {

int probe_day() {
  using namespace std::chrono;
  return static_cast<int>(floor<days>(system_clock::now()).time_since_epoch().count());
}

std::string format_day(int day) {
  const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(day))};
  char text[32];
  std::snprintf(text, sizeof text, "%04d-%02u-%02u", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                static_cast<unsigned>(date.day()));
  return text;
}

int parse_day(std::string_view text) {
  int year = 0, end = 0;
  unsigned month = 0, day = 0;
  const std::string given(text);
  const bool is_read = std::sscanf(given.c_str(), "%4d-%2u-%2u%n", &year, &month, &day, &end) == 3;
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month), std::chrono::day(day)};
  if (!is_read || static_cast<std::size_t>(end) != given.size() || !date.ok() || year < 1970)
    throw Error("'" + given + "' is no date such as 2026-11-26");
  return static_cast<int>(std::chrono::sys_days(date).time_since_epoch().count());
}

}  // namespace espalier::tune
