#include "tune/places.hpp"

#include <gtest/gtest.h>

using namespace espalier::tune;
using Places = std::vector<std::string>;

TEST(TablePlaces, are_the_users_before_the_systems) {
  EXPECT_EQ(table_places("", "/home/ann"),
            (Places{"/home/ann/.config/espalier/table.json", "/etc/espalier/table.json"}));
}

TEST(TablePlaces, follow_the_users_own_configuration_folder) {
  EXPECT_EQ(table_places("/cfg", "/home/ann"), (Places{"/cfg/espalier/table.json", "/etc/espalier/table.json"}));
  EXPECT_EQ(table_places("relative", "/home/ann").front(), "/home/ann/.config/espalier/table.json");
}

TEST(TablePlaces, without_a_home_are_the_systems_alone) {
  EXPECT_EQ(table_places("", ""), (Places{"/etc/espalier/table.json"}));
}

TEST(TablePlaces, a_named_table_is_used_whether_it_is_there_or_not) {
  EXPECT_EQ(probe_table_files("/nowhere/table.json", "off"), (Places{"/nowhere/table.json"}));
}

TEST(TablePlaces, off_means_no_table) { EXPECT_EQ(probe_table_files("off", "off"), Places{}); }
