#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "core/error.hpp"
#include "core/file.hpp"
#include "tests/core/faults_of.hpp"
#include "tests/core/temporary_folder.hpp"

namespace paceline::core {
namespace {

using test::contents_of;
using test::message_of;
using test::TemporaryFolder;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

std::string refusal_to_read(const std::filesystem::path& path, std::size_t most = 100) {
  return message_of<ConfigError>([&] { return read_file(path, most); });
}

std::string refusal_to_write(const std::filesystem::path& path) {
  return message_of<RunError>([&] {
    write_file_atomically(path, "new");
    return 0;
  });
}

/// Root may read and write everything, so a test of permissions goes on as nobody.
class WithoutRoot {
 public:
  WithoutRoot() : dropped_(::geteuid() == 0 && ::seteuid(nobody) == 0) {}
  ~WithoutRoot() {
    if (dropped_ && ::seteuid(0) != 0) std::abort();
  }
  WithoutRoot(const WithoutRoot&) = delete;
  WithoutRoot& operator=(const WithoutRoot&) = delete;

 private:
  static constexpr uid_t nobody = 65534;
  bool dropped_;
};

TEST(ReadFileReject, a_missing_file) {
  const TemporaryFolder folder;
  EXPECT_EQ(refusal_to_read(folder / "absent.json"),
            (folder / "absent.json").string() + ": no such file (give a path that exists)");
}

TEST(ReadFileReject, a_folder) {
  const TemporaryFolder folder;
  EXPECT_EQ(refusal_to_read(folder.path()),
            folder.path().string() + ": is not a regular file (give a file, not a folder)");
}

TEST(ReadFileReject, a_device_that_never_ends) {
  EXPECT_THAT(refusal_to_read("/dev/zero"), HasSubstr("is not a regular file"));
}

TEST(ReadFileReject, a_file_that_is_too_large) {
  const TemporaryFolder folder;
  std::ofstream(folder / "large") << std::string(101, 'x');
  EXPECT_THAT(refusal_to_read(folder / "large"), HasSubstr("holds 101 bytes (at most 100)"));
}

TEST(ReadFileReject, an_empty_path) { EXPECT_THAT(refusal_to_read(""), HasSubstr("no such file")); }

TEST(ReadFileReject, a_file_that_may_not_be_read) {
  using std::filesystem::perms;
  const TemporaryFolder folder;
  std::ofstream(folder / "secret") << "x";
  std::filesystem::permissions(folder / "secret", perms::none);
  {
    const WithoutRoot without_root;
    if (::geteuid() == 0) GTEST_SKIP() << "root, and not allowed to become nobody";
    // Of root's folder nobody sees not even the file, of an own one only not its text.
    EXPECT_THAT(refusal_to_read(folder / "secret"),
                HasSubstr("cannot be read: Permission denied (check its permissions)"));
  }
}

TEST(ReadFileReject, a_name_that_is_too_long) {
  EXPECT_THAT(refusal_to_read(std::string(5'000, 'x')), HasSubstr("cannot be read: File name too"));
}

TEST(AtomicWriteReject, a_folder_that_is_missing) {
  const TemporaryFolder folder;
  EXPECT_EQ(refusal_to_write(folder / "absent/report.json"),
            (folder / "absent/report.json").string() +
                ": cannot be written: No such file or directory (check that the folder exists, is "
                "writable and has space)");
  EXPECT_EQ(folder.entries(), 0U);
}

TEST(AtomicWriteReject, a_folder_in_which_nobody_may_write) {
  EXPECT_THAT(refusal_to_write("/proc/report.json"),
              AllOf(StartsWith("/proc/report.json: cannot be written: "),
                    HasSubstr("is writable and has space")));
}

TEST(AtomicWriteReject, a_read_only_folder_keeps_its_old_file) {
  using std::filesystem::perms;
  const TemporaryFolder folder;
  write_file_atomically(folder / "report.json", "old");
  std::filesystem::permissions(folder.path(), perms::owner_read | perms::owner_exec |
                                                  perms::others_read | perms::others_exec);
  {
    const WithoutRoot without_root;
    if (::geteuid() == 0) GTEST_SKIP() << "root, and not allowed to become nobody";
    EXPECT_THAT(refusal_to_write(folder / "report.json"), HasSubstr("Permission denied"));
  }
  EXPECT_EQ(contents_of(folder / "report.json"), "old");
  EXPECT_EQ(folder.entries(), 1U);
  std::filesystem::permissions(folder.path(), perms::owner_all);
}

// A folder in the place of the temporary file stops the write before the old file is touched.
TEST(AtomicWriteReject, a_write_that_fails_keeps_the_old_file) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "report.json", "old");
  std::filesystem::create_directory(folder / ("report.json.partial-" + std::to_string(::getpid())));
  EXPECT_THAT(refusal_to_write(folder / "report.json"), HasSubstr("cannot be written"));
  EXPECT_EQ(contents_of(folder / "report.json"), "old");
}

TEST(AtomicWriteReject, a_folder_in_the_place_of_the_file) {
  const TemporaryFolder folder;
  EXPECT_THAT(refusal_to_write(folder.path()), HasSubstr("cannot be written: Is a directory"));
  EXPECT_EQ(folder.entries(), 0U);
}

TEST(AtomicWriteReject, a_full_device) {
  if (!std::filesystem::is_character_file("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  EXPECT_EQ(refusal_to_write("/dev/full"),
            "/dev/full: cannot be written: No space left on device (check that the folder exists, "
            "is writable and has space)");
}

}  // namespace
}  // namespace paceline::core
