#include "src/cli/cli.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "src/cli/arguments.h"
#include "src/cli/commands.h"
#include "src/cli/exit_codes.h"
#include "src/cli/mount_option_syntax.h"
#include "src/cli/new_file_rule.h"
#include "src/version.h"

namespace framefs {
namespace {

constexpr const char* kHelperName = "mount.framefs";

// Expands every "-o WORDS".  For mount(8)'s helper, also translates mount(8)'s flags.
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
      auto options = expand_mount_options(words);
      if (!options) return std::unexpected("unknown mount option: " + options.error());
      out.insert(out.end(), options->begin(), options->end());
    } else if (is_helper && (argument == "-n" || argument == "-v" || argument == "-s")) {
      continue;  // no meaning here: no mtab, verbose, sloppy
    } else if (is_helper && argument == "-f") {
      out.emplace_back("--check-only");
    } else {
      out.push_back(argument);
    }
  }
  return out;
}

// CLI11's own range check accepts "nan".
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

const std::map<std::string, fs::ArrayViews> kArrayViews = {
    {"npy", fs::ArrayViews::npy}, {"raw", fs::ArrayViews::raw}, {"both", fs::ArrayViews::both}};

// Option values that are converted after all arguments were parsed.
struct Given {
  double attr_timeout_s = 1;
  double commit_interval_s = 5;
  std::vector<std::string> rules;
};

unsigned milliseconds(double seconds) { return static_cast<unsigned>(std::lround(seconds * 1000)); }

void add_write_options(CLI::App& app, Command& command, Given& given) {
  auto& write = command.mount.write;
  app.add_flag("--ro,!--rw", command.mount.read_only, "Allow no changes");
  const auto check_rule = [&defaults = write.defaults](const std::string& text) {
    const auto rule = parse_new_file_rule(text, defaults);
    return rule ? std::string() : rule.error();
  };
  app.add_option("--rule", given.rules, "What new files become; the first rule that matches holds")
      ->allow_extra_args(false)
      ->check(CLI::Validator(check_rule, ""))
      ->type_name("GLOB:KEY=VALUE,...");
  app.add_option("--plain", write.plain_globs, "New files of such names are no frames")
      ->allow_extra_args(false)
      ->type_name("GLOB");
  app.add_flag("--writeback", command.mount.writeback,
               "Let the kernel collect what is written before it hands it over");
  app.add_option("--overlay-size", write.overlay_bytes, "Memory for what is written, as 64M or 2G")
      ->transform(size_text())
      ->default_str("256M");
  app.add_option("--commit-interval", given.commit_interval_s,
                 "Seconds for which what is written may be in memory only")
      ->check(seconds_up_to(3600))
      ->default_str("5");
}

// CLI11 2.5 and later would rewrap the footer, which is already wrapped.
template <class Formatter>
void keep_footer_lines(Formatter& formatter) {
  if constexpr (requires { formatter.enable_footer_formatting(false); }) {
    formatter.enable_footer_formatting(false);
  }
}

void add_options(CLI::App& app, Command& command, Given& given) {
  app.add_option("SOURCE", command.mount.source, "A directory, one frame, or one store")
      ->required();
  app.add_option("MOUNTPOINT", command.mount.mountpoint,
                 "A directory; for one frame, a regular file will do")
      ->required();
  app.add_flag("-f,--foreground", command.foreground, "Stay in the foreground, log to stderr");
  app.add_flag("--keep-suffix", command.mount.keep_suffix, "Show frames under their full names");
  // CLI11's own conversion also accepts the numbers of an enum, even numbers without an enumerator.
  const auto set_arrays = [&](const std::string& word) {
    command.mount.arrays = kArrayViews.at(word);
  };
  app.add_option_function<std::string>(
         "--arrays", set_arrays,
         "What is shown of an array: npy, a NumPy file; raw, its bytes; both")
      ->check(CLI::IsMember(&kArrayViews).description(""))
      ->type_name("npy|raw|both")
      ->default_str("npy");
  app.add_option("--offset", command.mount.source_offset,
                 "Where in SOURCE, one file, its frame begins, as 4096 or 1M")
      ->transform(size_text());
  app.add_flag_callback(
      "--no-sandbox", [&command] { command.mount.sandbox = false; },
      "Keep rights that serving the mount does not need");
  app.add_flag("--io-uring", command.mount.io_uring,
               "Take requests by io_uring, for many small reads at random");
  app.add_flag("--allow-other", command.mount.allow_other, "Let other users use the mount");
  app.add_option("--cache-size", command.mount.cache_bytes,
                 "Memory for decoded blocks, as 64M or 2G")
      ->transform(size_text())
      ->default_str("256M");
  app.add_option("--threads", command.mount.threads, "Threads that decode; 0: one for each CPU")
      ->check(CLI::Range(0U, 1024U));
  app.add_option("--attr-timeout", given.attr_timeout_s,
                 "Seconds for which the kernel trusts names and attributes")
      ->check(seconds_up_to(86400))
      ->default_str("1");
  add_write_options(app, command, given);
  app.add_option("--log-file", command.log_file, "Log there; else to syslog, or stderr with -f");
  app.add_flag("-d,--debug", command.mount.debug, "Trace every request on stderr; implies -f");
  // The option that "-o noexec" becomes.  It takes one value each time; otherwise it would take the
  // paths after it as values.
  app.add_option("--vfs", command.mount.vfs_options)->allow_extra_args(false)->group("");
  app.add_flag("--check-only", command.check_only)->group("");  // mount -f becomes this
  keep_footer_lines(*app.get_formatter());
  app.footer(
      "-o OPTION[,OPTION]: the same as mount(8) has them, cache_size=64M for --cache-size 64M,\n"
      "or noexec, nosuid, nodev and their like.\n\n"
      "fusermount3 -u MOUNTPOINT unmounts.\n\n" +
      command_list());
  app.set_version_flag("-V,--version", std::string("framefs ") + kVersion);
}

}  // namespace

bool is_mount_helper(const std::vector<std::string>& arguments) {
  return std::filesystem::path(arguments.at(0)).filename() == kHelperName;
}

Parsed parse_command_line(const std::vector<std::string>& arguments) {
  std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
  // mount(8) passes a SOURCE first, never a command.
  const bool is_helper = is_mount_helper(arguments);
  if (!is_helper && !rest.empty() && rest.front() == "mount") rest.erase(rest.begin());

  Command command;
  Given given;
  CLI::App app("Shows Blosc2 frames as decompressed plain files.", "framefs");
  add_options(app, command, given);
  auto expanded = expand(rest, is_helper);
  if (!expanded) {
    std::cerr << fmt::format("framefs: {}\nRun framefs --help for more.\n", expanded.error());
    return {.command = std::nullopt, .exit_code = kExitUsage};
  }
  try {
    std::ranges::reverse(*expanded);  // CLI11 wants them reversed
    app.parse(std::move(*expanded));
  } catch (const CLI::ParseError& error) {
    const bool is_answer = error.get_exit_code() == 0;  // --help or --version
    if (!is_answer) std::cerr << "framefs: ";
    app.exit(error);
    return {.command = std::nullopt, .exit_code = is_answer ? kExitOk : kExitUsage};
  }
  command.foreground = command.foreground || command.mount.debug;
  command.mount.attr_timeout_ms = milliseconds(given.attr_timeout_s);
  command.mount.write.commit_interval_ms = milliseconds(given.commit_interval_s);
  auto& write = command.mount.write;
  for (const auto& text : given.rules) {
    if (auto rule = parse_new_file_rule(text, write.defaults)) write.rules.push_back(*rule);
  }
  // The daemon changes its working directory, so the paths must be absolute.
  command.mount.source = std::filesystem::absolute(command.mount.source);
  command.mount.mountpoint = std::filesystem::absolute(command.mount.mountpoint);
  return {.command = std::move(command), .exit_code = kExitOk};
}

}  // namespace framefs
