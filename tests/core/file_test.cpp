#include "core/file.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/core/temporary_folder.hpp"

namespace paceline::core {
namespace {

using test::contents_of;
using test::TemporaryFolder;

TEST(ReadFile, gives_every_byte) {
  const TemporaryFolder folder;
  const std::string bytes("a\0b\r\n\xFF", 6);
  std::ofstream(folder / "bytes", std::ios::binary) << bytes;
  EXPECT_EQ(read_file(folder / "bytes", 6), bytes);
}

TEST(ReadFile, gives_an_empty_text_for_an_empty_file) {
  const TemporaryFolder folder;
  std::ofstream(folder / "empty").close();
  EXPECT_EQ(read_file(folder / "empty", 10), "");
}

TEST(AtomicWrite, writes_a_new_file_and_leaves_nothing_else) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "report.json", "whole");
  EXPECT_EQ(contents_of(folder / "report.json"), "whole");
  EXPECT_EQ(folder.entries(), 1U);
}

TEST(AtomicWrite, replaces_an_old_file_with_all_of_the_new_one) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "report.json", std::string(100'000, 'x'));
  write_file_atomically(folder / "report.json", "short");
  EXPECT_EQ(contents_of(folder / "report.json"), "short");
  EXPECT_EQ(folder.entries(), 1U);
}

TEST(AtomicWrite, writes_no_bytes_too) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "empty", "");
  EXPECT_EQ(std::filesystem::file_size(folder / "empty"), 0U);
}

// A reader that has the old file open keeps the old file: the new one is another inode.
TEST(AtomicWrite, never_changes_a_file_that_is_being_read) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "report.json", "old");
  std::ifstream reader(folder / "report.json");
  write_file_atomically(folder / "report.json", "new");
  std::string seen;
  reader >> seen;
  EXPECT_EQ(seen, "old");
}

TEST(AtomicWrite, writes_the_file_that_a_link_points_to) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "target.json", "old");
  std::filesystem::create_symlink("target.json", folder / "link.json");
  write_file_atomically(folder / "link.json", "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link.json"));
  EXPECT_EQ(contents_of(folder / "target.json"), "new");
}

// `--json /dev/stdout` as root must not turn the device into a file.
TEST(AtomicWrite, leaves_a_device_a_device) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink("/dev/null", folder / "nowhere");
  write_file_atomically(folder / "nowhere", "gone");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "nowhere"));
}

// The published FNV-1a vectors (Fowler, Noll, Vo; draft-eastlake-fnv, appendix C).
TEST(Hash, is_fnv_1a_of_64_bits) {
  EXPECT_EQ(hash_of(""), UINT64_C(0xcbf29ce484222325));
  EXPECT_EQ(hash_of("a"), UINT64_C(0xaf63dc4c8601ec8c));
  EXPECT_EQ(hash_of("foobar"), UINT64_C(0x85944171f73967e8));
}

TEST(Hash, text_has_16_digits) {
  EXPECT_EQ(hash_text("foobar"), "85944171f73967e8");
  for (const char* text : {"", "a", "b", "paceline", "0"}) EXPECT_EQ(hash_text(text).size(), 16U);
}

TEST(Hash, sees_bytes_beyond_ascii_and_nul) {
  EXPECT_NE(hash_of(std::string_view("\0", 1)), hash_of(""));
  EXPECT_NE(hash_of("\xFF"), hash_of("\x7F"));
}

}  // namespace
}  // namespace paceline::core
