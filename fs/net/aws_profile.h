#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "fs/net/aws_environment.h"
#include "fs/net/url.h"

namespace framefs::net {

// One profile of the files that the AWS tools share, ~/.aws/config and ~/.aws/credentials.
// Source: https://docs.aws.amazon.com/sdkref/latest/guide/file-format.html
class AwsProfile {
 public:
  // The settings of profile `name`, or of the one that the environment names where it is empty.
  // A file that does not exist says nothing.
  // Errors: bad_field where a profile that was asked for by name does not exist; system.
  static Result<AwsProfile> load(const AwsEnvironment& environment, std::string_view name);

  // Nothing where it is not set.
  [[nodiscard]] std::optional<std::string> find(std::string_view setting) const;

 private:
  std::map<std::string, std::string, std::less<>> settings_;
};

using IniSection = std::map<std::string, std::string, std::less<>>;
using IniFile = std::map<std::string, IniSection, std::less<>>;

// A file of `[section]` and `key = value` lines.  Settings of a nested group, which are indented,
// are named "group.key".
IniFile parse_ini(std::string_view text);

}  // namespace framefs::net
