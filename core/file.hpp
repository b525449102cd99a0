#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace paceline::core {

/// The whole file as text. Throws `ConfigError` if it is missing, not a regular file, unreadable or
/// larger than `max_bytes`; the message names the path and the reason.
[[nodiscard]] std::string read_file(const std::filesystem::path& path, std::size_t max_bytes);

/// Writes `text` under a temporary name beside `path`, syncs it, then renames: a reader sees the
/// old file or the whole new one, never a part. A symbolic link stays and its target is written;
/// what is no file (`/dev/stdout`, a pipe) is written as it stands. Throws `RunError` if that
/// fails.
void write_file_atomically(const std::filesystem::path& path, std::string_view text);

/// FNV-1a, 64 bits: for identities in reports, not for security.
[[nodiscard]] std::uint64_t hash_of(std::string_view text);
/// The same as 16 hexadecimal digits.
[[nodiscard]] std::string hash_text(std::string_view text);

}  // namespace paceline::core
