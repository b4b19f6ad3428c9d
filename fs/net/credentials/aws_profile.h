#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "fs/net/credentials/aws_environment.h"
#include "fs/net/http/url.h"

namespace framefs::net {

// One profile of the files that the AWS tools share, ~/.aws/config and ~/.aws/credentials.
// Source: https://docs.aws.amazon.com/sdkref/latest/guide/file-format.html
class AwsProfile {
 public:
  // The settings of profile `name`.  If `name` is empty, the environment names the profile.
  // A file that does not exist counts as empty.
  // Errors: bad_field if a profile was requested by name and does not exist; system.
  static Result<AwsProfile> load(const AwsEnvironment& environment, std::string_view name);

  // "default" if nobody has chosen one.
  [[nodiscard]] const std::string& name() const { return name_; }
  // The value of a setting.  Nothing if the profile does not set it.
  [[nodiscard]] std::optional<std::string> find(std::string_view setting) const;

 private:
  std::string name_;
  std::map<std::string, std::string, std::less<>> settings_;
};

using IniSection = std::map<std::string, std::string, std::less<>>;
using IniFile = std::map<std::string, IniSection, std::less<>>;

// Parses a file of `[section]` and `key = value` lines.  The settings of a nested group are
// indented; their names become "group.key".
IniFile parse_ini(std::string_view text);

}  // namespace framefs::net
