#include "src/mount/mount_command.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "codec/core/parse_number.h"
#include "fs/core/diagnostics/error_map.h"
#include "fs/core/files/mount_table.h"
#include "fs/core/resources/memory_limit.h"
#include "fs/net/store/source_url.h"
#include "src/cli/arguments.h"
#include "src/cli/exit_codes.h"
#include "src/cli/frame_options.h"
#include "src/cli/mount_option_syntax.h"
#include "src/cli/new_file_rule.h"
#include "src/cli/remote_access.h"
#include "src/doctor/program_features.h"

namespace framefs {
namespace {

constexpr const char* kHelperName = "mount.framefs";

// Whether mount(8) has written these words of -o: it begins a remount with "ro" or "rw".
bool is_remount_by_mount8(std::string_view words) {
  const auto first = words.substr(0, words.find(','));
  return (first == "ro" || first == "rw") && fs::has_mount_option(words, "remount");
}

// Expands every "-o WORDS".  For mount(8)'s helper, also translates mount(8)'s flags.
std::expected<std::vector<std::string>, std::string> expand(
    const std::vector<std::string>& arguments, bool is_helper, const CommandSyntax& syntax) {
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
      auto options = expand_mount_options(words, syntax);
      if (!options) return std::unexpected(options.error());
      out.insert(out.end(), options->begin(), options->end());
      if (is_remount_by_mount8(words)) out.emplace_back("--all-flags");
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

constexpr std::array<std::pair<std::string_view, fs::ArrayViews>, 3> kArrayViews = {
    {{"npy", fs::ArrayViews::npy}, {"raw", fs::ArrayViews::raw}, {"both", fs::ArrayViews::both}}};

// Option values that are converted after all arguments were parsed.
struct Given {
  double attr_timeout_s = 1;
  double commit_interval_s = 5;
  double idle_s = 0;
  double list_timeout_s = 0;
  double wait_for_server_s = 0;
  FrameOptions frame;
  std::vector<std::string> rules;
};

unsigned milliseconds(double seconds) { return static_cast<unsigned>(std::lround(seconds * 1000)); }

void add_write_options(CLI::App& app, MountCommand& command, Given& given) {
  auto& write = command.mount.write;
  app.add_flag("--ro,!--rw", command.mount.read_only, "Mount read-only, or writable if SOURCE is");
  add_frame_options(app, given.frame, {.level = "2 for zstd, 5 for others", .chunk_size = "1M"});
  app.add_option(
         "--rule", given.rules,
         "GLOB:KEY=VALUE,...: such options, as level=9, for new files with such names; the first "
         "rule that matches applies")
      ->allow_extra_args(false)
      ->option_text("RULE");
  app.add_option("--plain", write.plain_globs, "New files with such names stay uncompressed")
      ->allow_extra_args(false)
      ->option_text("GLOB");
  app.add_flag("--locking", command.mount.locking, kLockingHelp);
  app.add_flag("--writeback", command.mount.writeback,
               "Let the kernel collect written data before it sends them");
  app.add_option("--overlay-size", write.overlay_bytes,
                 "Memory for written data, such as 64M or 2G")
      ->transform(size_text())
      ->option_text("SIZE")
      ->default_str("256M");
  app.add_option("--commit-interval", given.commit_interval_s,
                 "How long written data may stay in memory only")
      ->transform(seconds_up_to(3600))
      ->option_text("SECONDS")
      ->default_str("5");
}

void add_view_options(CLI::App& app, MountCommand& command, Given& given) {
  app.add_flag("--keep-suffix", command.mount.keep_suffix, "Show frames under their full names");
  app.add_option("--as-is", command.mount.as_is_globs,
                 "Show and store entries with such names as they are, although they have the "
                 "suffix of a frame")
      ->allow_extra_args(false)
      ->option_text("GLOB");
  app.add_flag("--verify-checksums", command.mount.verify_checksums,
               "Read a chunk of a frame that has checksums only if its bytes are right");
  add_choice(app, "--arrays", "Show an array as a NumPy file, as its bytes, or as both",
             kArrayViews, command.mount.arrays)
      ->default_str("npy");
  app.add_option("--offset", command.mount.source_offset,
                 "The position of the frame in SOURCE, which is one file, such as 4096 or 1M")
      ->transform(size_text())
      ->option_text("SIZE");
  app.add_flag("--immutable", command.mount.immutable,
               "SOURCE does not change: mount read-only, and let the kernel keep what it learns");
  app.add_option("--attr-timeout", given.attr_timeout_s,
                 "How long the kernel trusts names and attributes")
      ->transform(seconds_up_to(86400))
      ->option_text("SECONDS")
      ->default_str("1");
}

// A validator for octal modes, with the syntax of chmod(1).
CLI::Validator octal_mode() {
  const auto convert = [](std::string& text) {
    const auto mode = codec::parse_number<unsigned>(text, 8);
    if (!mode || *mode > 0777) {
      return fmt::format("\"{}\" is not an octal mode such as 022", text);
    }
    text = std::to_string(*mode);
    return std::string();
  };
  return CLI::Validator(convert, "", "MODE");
}

void add_attribute_options(CLI::App& app, MountCommand& command) {
  constexpr std::uint64_t kMaxId = 4294967294;
  auto& mount = command.mount;
  app.add_option("--uid", mount.uid, "Show this user as the owner of all files")
      ->check(whole_number(0, kMaxId))
      ->option_text("ID");
  app.add_option("--gid", mount.gid, "Show this group as the group of all files")
      ->check(whole_number(0, kMaxId))
      ->option_text("ID");
  app.add_option("--umask", mount.mode_mask, "Remove these bits from all modes that are shown")
      ->transform(octal_mode())
      ->option_text("MODE");
  app.add_flag("--list-info", mount.list_info,
               "List user.framefs.info and .meta.* among the attributes; they can always be read");
}

void add_remote_options(CLI::App& app, MountCommand& command, Given& given) {
  auto& remote = command.mount.remote;
  add_remote_access_options(app, remote);
  app.add_option("--list-timeout", given.list_timeout_s,
                 "How long a listing of a URL is used; by default as long as it took, at least 2 s "
                 "and at most a minute")
      ->transform(seconds_up_to(86400))
      ->option_text("SECONDS");
  app.add_option("--wait-for-server", given.wait_for_server_s,
                 "How long to wait for a server that does not answer, such as 5m; 0: not at all")
      ->transform(seconds_up_to(86400))
      ->option_text("TIME")
      ->default_str("0");
  app.add_option("--cache-dir", remote.cache_folder,
                 "Keep compressed data of a URL in this directory, also for later mounts")
      ->option_text("DIR");
  app.add_option("--whole-objects", remote.whole_object_bytes,
                 "From a server without ranges, fetch whole objects up to this size; by default "
                 "64M with --cache-dir")
      ->transform(size_text())
      ->option_text("SIZE");
  app.add_option("--cache-disk", remote.cache_disk_bytes,
                 "The size limit of that directory, such as 500M or 20G")
      ->transform(size_text())
      ->option_text("SIZE")
      ->default_str("10G");
}

void add_options(CLI::App& app, MountCommand& command, Given& given) {
  app.add_option("SOURCE", command.mount.source,
                 "A directory, one frame, one container, or a URL: s3://, http(s)://, dav(s)://")
      ->transform(path_or_url())
      ->required();
  app.add_option("MOUNTPOINT", command.mount.mountpoint,
                 "A directory, or for one frame a regular file")
      ->required();
  app.add_flag("-f,--foreground", command.foreground, "Stay in the foreground, log to stderr");
  add_view_options(app, command, given);
  app.add_flag_callback(
      "--no-sandbox", [&command] { command.mount.sandbox = false; },
      "Keep rights that serving the mount does not need");
  app.add_flag("--allow-other", command.mount.allow_other, "Let other users use the mount");
  app.add_flag("--acl", command.mount.acl,
               "Show the access control lists of SOURCE, which the kernel then applies");
  app.add_flag("--devices", command.mount.devices,
               "Let root create device nodes; other users never can");
  app.add_flag("--export", command.mount.export_handles,
               "Keep file handles, as NFS uses them, valid after a remount; as root");
  app.add_option("--cache-size", command.mount.cache_bytes,
                 "Memory for decoded blocks, such as 64M or 2G")
      ->transform(size_text())
      ->option_text("SIZE")
      ->default_str("256M");
  app.add_option("--threads", command.mount.threads, "Threads that decode; 0: one for each CPU")
      ->check(whole_number(0, 1024))
      ->option_text("N")
      ->default_str("0");
  add_write_options(app, command, given);
  constexpr double kMaxIdle = 30 * 86400.0;
  app.add_option("--idle", given.idle_s,
                 "Unmount after this time without use, such as 10m; 0: never")
      ->transform(seconds_up_to(kMaxIdle))
      ->option_text("TIME")
      ->default_str("0");
  app.add_flag("--nonempty", command.allow_nonempty,
               "Mount on a directory with files, which the mount hides");
  app.add_flag("--replace-stale", command.replace_stale,
               "Remove a mount at MOUNTPOINT whose daemon is gone");
  add_attribute_options(app, command);
  add_remote_options(app, command, given);
  app.add_option("--fsname", command.mount.fs_name,
                 "The source that mount lists show; SOURCE by default")
      ->option_text("NAME");
  app.add_option("--subtype", command.mount.subtype,
                 "The type that mount lists show behind \"fuse.\"")
      ->option_text("NAME")
      ->default_str("framefs");
  app.add_option("--log-file", command.log_file, "Log there; else to syslog, or stderr with -f")
      ->option_text("FILE");
  app.add_flag("-d,--debug", command.mount.debug, "Trace every request on stderr; implies -f");
  // The option that "-o noexec" becomes.  It takes one value each time; otherwise it would take the
  // paths after it as values.
  app.add_option("--vfs", command.mount.vfs_options)->allow_extra_args(false)->group("");
  app.add_flag("--remount", command.remount)->group("");  // "-o remount" becomes this
  app.add_flag("--nofail", command.nofail)->group("");    // "-o nofail" becomes this
  app.add_flag("--all-flags", command.has_all_flags)->group("");
  app.add_flag("--check-only", command.check_only)->group("");  // mount -f becomes this
  app.footer(
      "-o OPTION[,OPTION]: the same options as mount(8) writes them, cache_size=64M for\n"
      "--cache-size 64M; also noexec, nosuid, nodev and the like.\n\n"
      "framefs umount MOUNTPOINT unmounts.");
  app.set_version_flag("-V,--version", version_text);
  // mount(8) puts the options of its command line behind those of fstab(5).
  for (auto* const option : app.get_options()) {
    if (!option->get_positional() && option->get_items_expected_max() == 1) option->take_last();
  }
}

// The options that a remount handles by itself, or that are no property of a mount.
constexpr std::array<std::string_view, 4> kNotOfTheMount = {"ro", "foreground", "nonempty",
                                                            "replace-stale"};

// Returns the given options as words of -o, with their values as the parser has converted them.
std::vector<std::string> given_options(const CLI::App& app) {
  std::vector<std::string> words;
  for (const auto* const option : app.get_options()) {
    const bool is_hidden = option->get_positional() || option->get_group().empty();
    if (option->count() == 0 || is_hidden || option->get_lnames().empty()) continue;
    auto word = option->get_lnames().front();
    if (std::ranges::find(kNotOfTheMount, word) != kNotOfTheMount.end()) continue;
    std::ranges::replace(word, '-', '_');
    if (option->get_items_expected_max() == 0) {
      words.push_back(std::move(word));
    } else if (option->get_multi_option_policy() == CLI::MultiOptionPolicy::TakeLast) {
      words.push_back(word + "=" + option->results().back());
    } else {
      for (const auto& value : option->results()) words.push_back(word + "=" + value);
    }
  }
  return words;
}

bool has_arrays(const fs::NewFileRule& rule) { return rule.frame.arrays; }

// Why the options do not go together.
std::optional<std::string> contradiction(const fs::MountOptions& mount) {
  const bool shows_npy = mount.arrays == fs::ArrayViews::npy && !mount.keep_suffix;
  if (!shows_npy && std::ranges::any_of(mount.write.rules, &has_arrays)) {
    return "a rule with arrays=yes needs --arrays=npy, and no --keep-suffix: the files would get "
           "other names";
  }
  if (mount.acl && (mount.uid || mount.gid || mount.mode_mask != 0)) {
    return "--acl does not go together with --uid, --gid and --umask: the lists are for the files' "
           "own owners and modes";
  }
  if (mount.export_handles && !mount.as_is_globs.empty()) {
    return "--export excludes --as-is: a file that is found by its handle may have no known name";
  }
  if (mount.export_handles && mount.locking) {
    return "--export excludes --locking: a file that is found by its handle may have no known "
           "name, and so no lock file";
  }
  return std::nullopt;
}

// With those of kFrameOptionNames, the options that have no effect if SOURCE is a URL: its mount is
// read-only.
constexpr const char* kLocalOptions[] = {
    "--as-is",     "--offset", "--acl",   "--export",       "--devices",        "--locking",
    "--writeback", "--rule",   "--plain", "--overlay-size", "--commit-interval"};
// With those of kFrameOptionNames, the options that are about changes.
constexpr const char* kOptionsForChanges[] = {
    "--attr-timeout", "--devices",      "--locking",         "--writeback",   "--rule",
    "--plain",        "--overlay-size", "--commit-interval", "--list-timeout"};
// The options that have an effect only if SOURCE is a URL.
constexpr const char* kUrlOptions[] = {"--cache-dir", "--cache-disk", "--list-timeout",
                                       "--whole-objects", "--wait-for-server"};

// The first given option of a list, or of those that say how new frames are stored.
std::optional<std::string> first_given_of(const CLI::App& app,
                                          std::span<const char* const> options) {
  auto name = first_given(app, options);
  return name ? std::move(name) : first_given(app, kFrameOptionNames);
}

// Why an option does not go together with --immutable.
std::optional<std::string> option_for_changes(const CLI::App& app, const fs::MountOptions& mount) {
  if (!mount.immutable) return std::nullopt;
  const bool is_writable = app.get_option("--ro")->count() > 0 && !mount.read_only;
  if (is_writable) return "--immutable excludes --rw";
  if (const auto name = first_given_of(app, kOptionsForChanges)) {
    return *name + " has no effect with --immutable";
  }
  return std::nullopt;
}

// Why an option does not go together with SOURCE.
std::optional<std::string> misplaced_option(const CLI::App& app, const fs::MountOptions& mount) {
  const auto source = mount.source.string();
  if (auto why = misplaced_remote_option(app, source)) return why;
  if (net::is_source_url(source)) {
    if (const auto name = first_given_of(app, kLocalOptions)) {
      return *name + " needs a SOURCE that is not a URL";
    }
  } else if (const auto name = first_given(app, kUrlOptions)) {
    return *name + " needs a SOURCE that is a URL";
  }
  if (app.get_option("--cache-disk")->count() > 0 && mount.remote.cache_folder.empty()) {
    return "--cache-disk needs --cache-dir";
  }
  return std::nullopt;
}

// Sets how new files are stored.  Returns what is wrong with the options for it.
std::optional<std::string> set_new_files(fs::MountOptions& mount, const Given& given) {
  auto& write = mount.write;
  given.frame.apply_to(write.defaults);
  const auto& defaults = write.defaults;
  if (auto why = items_without_room(defaults.typesize, defaults.chunksize)) return why;
  for (const auto& text : given.rules) {
    auto rule = parse_new_file_rule(text, defaults);
    if (!rule) return "--rule: " + rule.error();
    if (rule->as_is) {
      mount.as_is_globs.push_back(std::move(rule->glob));
    } else {
      write.rules.push_back(std::move(*rule));
    }
  }
  return std::nullopt;
}

constexpr const char* kAbout = "Shows Blosc2 frames as decompressed plain files.";

}  // namespace

CommandSyntax mount_syntax() {
  MountCommand command;
  Given given;
  CLI::App app(kAbout, "framefs");
  add_options(app, command, given);
  return syntax_of(app);
}

bool is_mount_helper(const std::vector<std::string>& arguments) {
  return std::filesystem::path(arguments.at(0)).filename() == kHelperName;
}

ParsedMountCommand parse_mount_command(const std::vector<std::string>& arguments,
                                       const std::string& command_list) {
  std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
  // mount(8) passes a SOURCE first, never a command.
  const bool is_helper = is_mount_helper(arguments);
  if (!is_helper && !rest.empty() && rest.front() == "mount") rest.erase(rest.begin());

  MountCommand command;
  command.mount.cache_bytes = fs::default_buffer_bytes(fs::memory_limit());
  command.mount.write.overlay_bytes = command.mount.cache_bytes;
  Given given;
  CLI::App app(kAbout, "framefs");
  add_options(app, command, given);
  app.footer(app.get_footer() + "\n\n" + command_list);
  const auto expanded = expand(rest, is_helper, syntax_of(app));
  if (!expanded) {
    return {.command = std::nullopt, .exit_code = usage_error(app, expanded.error())};
  }
  if (const auto over = parse_arguments(app, *expanded)) {
    return {.command = std::nullopt, .exit_code = *over};
  }
  command.is_mount_helper = is_helper;
  command.foreground = command.foreground || command.mount.debug;
  command.mount.attr_timeout_ms = milliseconds(given.attr_timeout_s);
  command.mount.idle_ms = milliseconds(given.idle_s);
  command.mount.remote.wait_for_server_ms = milliseconds(given.wait_for_server_s);
  if (app.get_option("--list-timeout")->count() > 0) {
    command.mount.remote.list_timeout_ms = milliseconds(given.list_timeout_s);
  }
  command.mount.write.commit_interval_ms = milliseconds(given.commit_interval_s);
  auto why = set_new_files(command.mount, given);
  command.has_access = app.get_option("--ro")->count() > 0;
  command.mount.given = given_options(app);
  if (!why) why = contradiction(command.mount);
  if (!why) why = option_for_changes(app, command.mount);
  if (!why) why = misplaced_option(app, command.mount);
  if (why) return {.command = std::nullopt, .exit_code = usage_error(app, *why)};
  command.mount.read_only = command.mount.read_only || command.mount.immutable;
  // The daemon changes its working directory, so the paths must be absolute.
  const bool is_url = net::is_source_url(command.mount.source.string());
  if (!is_url) command.mount.source = std::filesystem::absolute(command.mount.source);
  for (auto* const path : {&command.mount.remote.cache_folder, &command.mount.remote.ca_file}) {
    if (!path->empty()) *path = std::filesystem::absolute(*path);
  }
  command.mount.mountpoint = std::filesystem::absolute(command.mount.mountpoint);
  if (!command.log_file.empty()) {
    command.log_file = std::filesystem::absolute(command.log_file).string();
  }
  return {.command = std::move(command), .exit_code = kExitOk};
}

}  // namespace framefs
