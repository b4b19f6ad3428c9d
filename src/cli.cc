#include "src/cli.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "codec/core/checked.h"
#include "src/exit_codes.h"
#include "src/mount_words.h"
#include "src/version.h"

namespace framefs {
namespace {

constexpr const char* kHelperName = "mount.framefs";

// The arguments with every "-o WORDS" expanded and, for mount(8)'s helper, its flags translated.
std::expected<std::vector<std::string>, std::string> expand(
    const std::vector<std::string>& arguments, bool is_helper) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto& argument = arguments[i];
    const bool is_words = argument.starts_with("-o");
    if (is_words) {
      std::string words = argument.substr(2);
      if (words.empty()) {
        if (++i == arguments.size()) return std::unexpected("-o needs options after it");
        words = arguments[i];
      }
      auto options = expand_mount_words(words);
      if (!options) return std::unexpected("unknown mount option: " + options.error());
      out.insert(out.end(), options->begin(), options->end());
    } else if (is_helper && (argument == "-n" || argument == "-v" || argument == "-s")) {
      continue;  // not for us: no mtab, verbose, sloppy
    } else if (is_helper && argument == "-f") {
      out.emplace_back("--check-only");
    } else {
      out.push_back(argument);
    }
  }
  return out;
}

// A number of bytes: "64M", "64MB" and "64MiB" alike, in upper or lower case.
std::optional<std::uint64_t> parse_size(std::string_view text) {
  std::uint64_t size = 0;
  const auto number = std::from_chars(text.data(), text.data() + text.size(), size);
  if (number.ec != std::errc()) return std::nullopt;
  std::string unit(number.ptr, text.data() + text.size());
  const auto upper = [](char c) { return c >= 'a' ? static_cast<char>(c - 'a' + 'A') : c; };
  std::ranges::transform(unit, unit.begin(), upper);
  if (unit.empty() || unit == "B") return size;
  constexpr std::string_view kUnits = "KMGTPE";
  const auto power = kUnits.find(unit.front());
  const auto rest = std::string_view(unit).substr(1);
  if (power == std::string_view::npos || !(rest.empty() || rest == "B" || rest == "IB")) {
    return std::nullopt;
  }
  return codec::checked_mul(size, std::uint64_t{1} << 10 * (power + 1));
}

// CLI11's own conversions take "-1" and "M" for sizes, what passes 64 bits, and "nan" for a number
// of any range.
CLI::Validator size_text() {
  const auto convert = [](std::string& text) {
    const auto size = parse_size(text);
    if (!size) return text + " is no size";
    text = std::to_string(*size);
    return std::string();
  };
  return CLI::Validator(convert, "SIZE", "SIZE");
}

CLI::Validator seconds_up_to(double most) {
  const auto check = [most](std::string& text) {
    double seconds = 0;
    const char* const end = text.data() + text.size();
    const auto number = std::from_chars(text.data(), end, seconds);
    const bool is_number = number.ec == std::errc() && number.ptr == end;
    if (is_number && seconds >= 0 && seconds <= most) return std::string();
    return fmt::format("{} is not in 0 to {}", text, most);
  };
  return CLI::Validator(check, fmt::format("0 to {}", most), "SECONDS");
}

void add_options(CLI::App& app, Command& command, double& attr_timeout_s) {
  app.add_option("SOURCE", command.mount.source, "A directory, or one frame")->required();
  app.add_option("MOUNTPOINT", command.mount.mountpoint,
                 "A directory; for one frame a regular file")
      ->required();
  app.add_flag("-f,--foreground", command.foreground, "Stay in the foreground, log to stderr");
  app.add_flag("--keep-suffix", command.mount.keep_suffix, "Show frames under their full names");
  app.add_flag("--allow-other", command.mount.allow_other, "Let other users use the mount");
  app.add_option("--cache-size", command.mount.cache_bytes,
                 "Memory for decoded blocks, as 64M or 2G")
      ->transform(size_text())
      ->default_str("256M");
  app.add_option("--threads", command.mount.threads, "Threads that decode; 0: one for each CPU")
      ->check(CLI::Range(0U, 1024U));
  app.add_option("--attr-timeout", attr_timeout_s,
                 "Seconds for which the kernel trusts names and attributes")
      ->check(seconds_up_to(86400))
      ->default_str("1");
  app.add_option("--log-file", command.log_file, "Log there; else to syslog, or stderr with -f");
  app.add_flag("-d,--debug", command.mount.debug, "Trace every request on stderr; implies -f");
  // What -o noexec becomes; one value each, or the paths behind it would be taken for more.
  app.add_option("--vfs", command.mount.vfs_options)->allow_extra_args(false)->group("");
  app.add_flag("--check-only", command.check_only)->group("");  // what mount -f becomes
  app.footer(
      "-o OPTION[,OPTION]: the same as mount(8) has them, cache_size=64M for --cache-size 64M,\n"
      "or noexec, nosuid, nodev and their like.\n\n"
      "fusermount3 -u MOUNTPOINT unmounts.");
  app.set_version_flag("-V,--version", std::string("framefs ") + kVersion);
}

}  // namespace

Parsed parse_command_line(const std::vector<std::string>& arguments) {
  const auto program = std::filesystem::path(arguments.at(0)).filename();
  std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
  if (!rest.empty() && rest.front() == "mount") rest.erase(rest.begin());

  Command command;
  double attr_timeout_s = 1;
  CLI::App app("Shows Blosc2 frames as decompressed plain files.", "framefs");
  add_options(app, command, attr_timeout_s);
  auto expanded = expand(rest, program == kHelperName);
  if (!expanded) {
    std::cerr << fmt::format("framefs: {}\nRun framefs --help for more.\n", expanded.error());
    return {.command = std::nullopt, .exit_code = kExitUsage};
  }
  try {
    std::ranges::reverse(*expanded);  // as CLI11 wants them
    app.parse(std::move(*expanded));
  } catch (const CLI::ParseError& error) {
    const bool is_answer = error.get_exit_code() == 0;  // --help and --version
    if (!is_answer) std::cerr << "framefs: ";
    app.exit(error);
    return {.command = std::nullopt, .exit_code = is_answer ? kExitOk : kExitUsage};
  }
  command.foreground = command.foreground || command.mount.debug;
  command.mount.attr_timeout_ms = static_cast<unsigned>(std::lround(attr_timeout_s * 1000));
  // A daemon leaves the directory it was started from.
  command.mount.source = std::filesystem::absolute(command.mount.source);
  command.mount.mountpoint = std::filesystem::absolute(command.mount.mountpoint);
  return {.command = std::move(command), .exit_code = kExitOk};
}

}  // namespace framefs
