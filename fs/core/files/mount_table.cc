#include "fs/core/files/mount_table.h"

#include <sys/sysmacros.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <utility>

#include "codec/core/parse_number.h"

namespace framefs::fs {
namespace {

// The kernel writes a space as \040.
std::string unescaped(const std::string& field) {
  std::string text;
  for (std::size_t i = 0; i < field.size(); ++i) {
    const bool is_escape = field[i] == '\\' && i + 3 < field.size();
    if (!is_escape) {
      text += field[i];
      continue;
    }
    text += static_cast<char>((field[i + 1] - '0') * 64 + (field[i + 2] - '0') * 8 +
                              (field[i + 3] - '0'));
    i += 3;
  }
  return text;
}

}  // namespace

std::optional<dev_t> parse_device(std::string_view text) {
  const auto colon = text.find(':');
  if (colon == text.npos) return std::nullopt;
  const auto device_major = codec::parse_number<unsigned>(text.substr(0, colon));
  const auto device_minor = codec::parse_number<unsigned>(text.substr(colon + 1));
  if (!device_major || !device_minor) return std::nullopt;
  return makedev(*device_major, *device_minor);
}

std::optional<MountTableEntry> parse_mount_line(const std::string& line) {
  std::istringstream fields(line);
  std::vector<std::string> words;
  // Other white space than the space, as a carriage return, is part of a path.
  for (std::string word; std::getline(fields, word, ' ');) words.push_back(word);
  std::size_t dash = 6;  // optional fields end with a dash
  while (dash < words.size() && words[dash] != "-") ++dash;
  if (dash + 2 >= words.size()) return std::nullopt;
  const auto device = parse_device(words[2]);
  const auto number = codec::parse_number<int>(words[0]);
  if (!device || !number) return std::nullopt;
  return MountTableEntry{
      .number = *number,
      .device = *device,
      .mountpoint = unescaped(words[4]),
      .options = words[5],
      .type = words[dash + 1],
      .source = unescaped(words[dash + 2]),
      .filesystem_options = dash + 3 < words.size() ? words[dash + 3] : std::string()};
}

std::vector<MountTableEntry> mount_table(const std::filesystem::path& process) {
  std::vector<MountTableEntry> mounts;
  std::ifstream in(process / "mountinfo");
  for (std::string line; std::getline(in, line);) {
    if (auto mount = parse_mount_line(line)) mounts.push_back(std::move(*mount));
  }
  return mounts;
}

bool has_mount_option(std::string_view options, std::string_view word) {
  while (!options.empty()) {
    const auto end = options.find(',');
    if (options.substr(0, end) == word) return true;
    if (end == options.npos) break;
    options.remove_prefix(end + 1);
  }
  return false;
}

}  // namespace framefs::fs
