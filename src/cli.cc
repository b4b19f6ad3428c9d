#include "src/cli.h"

#include <filesystem>
#include <iostream>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

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
      ->transform(CLI::AsSizeValue(false))
      ->default_str("256M");
  app.add_option("--threads", command.mount.threads, "Threads that decode; 0: one for each CPU")
      ->check(CLI::Range(0U, 1024U));
  app.add_option("--attr-timeout", attr_timeout_s,
                 "Seconds for which the kernel trusts names and attributes")
      ->check(CLI::Range(0.0, 86400.0))
      ->default_str("1");
  app.add_option("--log-file", command.log_file, "Log there; else to syslog, or stderr with -f");
  app.add_flag("-d,--debug", command.mount.debug, "Trace every request on stderr; implies -f");
  app.add_option("--vfs", command.mount.vfs_options)->group("");  // what -o noexec becomes
  app.add_flag("--check-only", command.check_only)->group("");    // what mount -f becomes
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
  command.mount.attr_timeout_ms = static_cast<unsigned>(attr_timeout_s * 1000);
  // A daemon leaves the directory it was started from.
  command.mount.source = std::filesystem::absolute(command.mount.source);
  command.mount.mountpoint = std::filesystem::absolute(command.mount.mountpoint);
  return {.command = std::move(command), .exit_code = kExitOk};
}

}  // namespace framefs
