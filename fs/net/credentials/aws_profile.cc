#include "fs/net/credentials/aws_profile.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <utility>

#include "fs/core/files/file.h"

namespace framefs::net {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const auto first = text.find_first_not_of(kBlanks);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// The value without the comment at its end.  A blank separates the comment from the value.
std::string_view without_comment(std::string_view value) {
  for (const auto* const mark : {" #", " ;", "\t#", "\t;"})
    value = value.substr(0, value.find(mark));
  return trimmed(value);
}

Result<IniFile> read_ini(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    const int error = errno;
    if (error == ENOENT || error == ENOTDIR) return IniFile{};
    return fs::system_error_of(error, "AWS profile file");
  }
  std::ostringstream text;
  text << file.rdbuf();
  auto content = std::move(text).str();
  auto parsed = parse_ini(content);
  wipe(content.data(), content.size());
  return parsed;
}

}  // namespace

IniFile parse_ini(std::string_view text) {
  IniFile file;
  IniSection* section = nullptr;
  std::string group;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto words = trimmed(line);
    if (words.empty() || words[0] == '#' || words[0] == ';') continue;
    if (words[0] == '[') {
      section = &file[std::string(trimmed(words.substr(1, words.find(']') - 1)))];
      group.clear();
      continue;
    }
    const auto equals = words.find('=');
    if (section == nullptr || equals == words.npos) continue;
    const auto key = trimmed(words.substr(0, equals));
    const auto value = without_comment(words.substr(equals + 1));
    const bool is_nested = line[0] == ' ' || line[0] == '\t';
    if (!is_nested) group = value.empty() ? key : "";
    const auto name =
        is_nested && !group.empty() ? group + "." + std::string(key) : std::string(key);
    (*section)[name] = value;
  }
  return file;
}

Result<AwsProfile> AwsProfile::load(const AwsEnvironment& environment, std::string_view name) {
  const auto by_environment = environment.find("AWS_PROFILE")
                                  .value_or(environment.find("AWS_DEFAULT_PROFILE").value_or(""));
  const std::string wanted(name.empty() ? by_environment : name);
  const auto chosen = wanted.empty() ? "default" : wanted;
  const auto config_path =
      environment.find("AWS_CONFIG_FILE").value_or(environment.in_home(".aws/config"));
  const auto credentials_path = environment.find("AWS_SHARED_CREDENTIALS_FILE")
                                    .value_or(environment.in_home(".aws/credentials"));
  FRAMEFS_TRY(auto config, read_ini(config_path));
  FRAMEFS_TRY(auto credentials, read_ini(credentials_path));

  AwsProfile profile;
  profile.name_ = chosen;
  bool found = false;
  const auto add = [&](IniFile& file, std::string_view section) {
    const auto place = file.find(section);
    if (place == file.end()) return;
    found = true;
    for (auto& [key, value] : place->second) profile.settings_[key] = value;
  };
  // Later settings override earlier ones.
  if (chosen == "default") add(config, "default");
  add(config, "profile " + chosen);
  add(credentials, chosen);
  if (!found && !wanted.empty())
    return fs::refusal(ENOENT, "the files of AWS have no such profile");
  return profile;
}

std::optional<std::string> AwsProfile::find(std::string_view setting) const {
  const auto found = settings_.find(setting);
  if (found == settings_.end() || found->second.empty()) return std::nullopt;
  return found->second;
}

}  // namespace framefs::net
