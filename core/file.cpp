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
  if (!std::filesystem::exists(status)) {
    throw ConfigError(path.string(), "", "no such file (give a path that exists)");
  }
  if (!std::filesystem::is_regular_file(status)) {
    throw ConfigError(path.string(), "", "is not a regular file (give a file, not a folder)");
  }
  const auto size = std::filesystem::file_size(path, error);
  if (!error && size > max_bytes) {
    throw ConfigError(path.string(), "",
                      "holds " + std::to_string(size) + " bytes (at most " +
                          std::to_string(max_bytes) + ")");
  }
  std::ifstream stream(path, std::ios::binary);
  std::string text;
  if (stream) text.assign(std::istreambuf_iterator<char>(stream), {});
  if (!stream || stream.bad()) {
    throw ConfigError(path.string(), "",
                      std::string("cannot be read: ") + std::strerror(errno) +
                          " (check its permissions)");
  }
  return text;
}

void write_file_atomically(const std::filesystem::path& path, std::string_view text) {
  const std::string temporary = path.string() + ".partial-" + std::to_string(::getpid());
  const auto fail = [&](const char* what) {
    const std::string reason = std::strerror(errno);
    ::unlink(temporary.c_str());
    throw RunError(path.string() + ": " + what + ": " + reason +
                   " (check that the folder exists, is writable and has space)");
  };
  const int descriptor = ::open(temporary.c_str(), O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0) fail("cannot be written");
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t count = ::write(descriptor, text.data() + written, text.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int reason = errno;
      ::close(descriptor);
      errno = reason;
      fail("cannot be written");
    }
    written += static_cast<std::size_t>(count);
  }
  const bool synced = ::fsync(descriptor) == 0 || errno == EINVAL || errno == EROFS;
  if (::close(descriptor) != 0 || !synced) fail("cannot be written");
  if (std::rename(temporary.c_str(), path.c_str()) != 0) fail("cannot be put in place");
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
