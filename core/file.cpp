#include "core/file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <system_error>

#include "core/error.hpp"

namespace paceline::core {

std::string read_file(const std::filesystem::path& path, std::size_t max_bytes) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::none) {
    throw ConfigError(path.string(), "",
                      "cannot be read: " + error.message() + " (check its permissions)");
  }
  if (!std::filesystem::exists(status)) {
    throw ConfigError(path.string(), "", "no such file (give a path that exists)");
  }
  if (!std::filesystem::is_regular_file(status)) {
    throw ConfigError(path.string(), "", "is not a regular file (give a file, not a folder)");
  }
  const auto size = std::filesystem::file_size(path, error);
  if (!error && size > max_bytes) {
    throw ConfigError(
        path.string(), "",
        "holds " + std::to_string(size) + " bytes (at most " + std::to_string(max_bytes) + ")");
  }
  std::ifstream stream(path, std::ios::binary);
  std::string text;
  if (stream) text.assign(std::istreambuf_iterator<char>(stream), {});
  if (!stream || stream.bad()) {
    throw ConfigError(
        path.string(), "",
        std::string("cannot be read: ") + std::strerror(errno) + " (check its permissions)");
  }
  return text;
}

namespace {

/// Writes all of `text` to a new or emptied file; false, with the reason in errno, if that fails.
bool write_all(const std::string& path, std::string_view text) {
  const int descriptor = ::open(path.c_str(), O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0) return false;
  bool good = true;
  while (good && !text.empty()) {
    const ssize_t count = ::write(descriptor, text.data(), text.size());
    if (count >= 0) text.remove_prefix(static_cast<std::size_t>(count));
    good = count >= 0 || errno == EINTR;
  }
  good = good && (::fsync(descriptor) == 0 || errno == EINVAL || errno == EROFS);
  const int reason = errno;
  const bool closed = ::close(descriptor) == 0;
  if (!good) errno = reason;
  return good && closed;
}

}  // namespace

void write_file_atomically(const std::filesystem::path& path, std::string_view text) {
  const auto fail = [&](const char* what, int reason) {
    throw RunError(path.string() + ": " + what + ": " + std::strerror(reason) +
                   " (check that the folder exists, is writable and has space)");
  };
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    if (!write_all(path.string(), text)) fail("cannot be written", errno);
    return;
  }
  std::filesystem::path target = std::filesystem::canonical(path, error);  // follows links
  if (error) target = path;
  const std::string temporary = target.string() + ".partial-" + std::to_string(::getpid());
  if (!write_all(temporary, text)) {
    const int reason = errno;
    ::unlink(temporary.c_str());
    fail("cannot be written", reason);
  }
  if (std::rename(temporary.c_str(), target.c_str()) != 0) {
    const int reason = errno;
    ::unlink(temporary.c_str());
    fail("cannot be put in place", reason);
  }
}

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = UINT64_C(0xcbf29ce484222325);
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= UINT64_C(0x100000001b3);
  }
  return hash;
}

std::string hash_text(std::string_view text) {
  std::array<char, 17> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx",
                static_cast<unsigned long long>(hash_of(text)));
  return digits.data();
}

}  // namespace paceline::core
