#include "src/mount/mount_command.h"

#include <filesystem>

#include "fs/core/resources/memory_limit.h"
#include "src/cli/exit_codes.h"
#include "tests/support/captured_streams.h"
#include "tests/support/catch.h"

namespace framefs::mount_command_test {
namespace {

using Words = std::vector<std::string>;

struct Run {
  ParsedMountCommand parsed;
  std::string out;
  std::string err;
};

Run run_as(const std::string& program, Words words) {
  words.insert(words.begin(), program);
  const test::CapturedStreams captured;
  auto parsed = parse_mount_command(words, "");
  return {std::move(parsed), captured.out(), captured.err()};
}

MountCommand command_of(const Words& words, const std::string& program = "/usr/bin/framefs") {
  auto run = run_as(program, words);
  INFO(run.err);
  REQUIRE(run.parsed.command);
  CHECK(run.parsed.exit_code == kExitOk);
  CHECK(run.out.empty());
  CHECK(run.err.empty());
  return std::move(*run.parsed.command);
}

// Checks for a usage error: its exit code, and a reason on stderr only.
void check_refused(const Words& words, const std::string& program = "framefs") {
  const auto run = run_as(program, words);
  std::string line;
  for (const auto& word : words) line += word + " ";
  CAPTURE(line);
  CHECK_FALSE(run.parsed.command);
  CHECK(run.parsed.exit_code == kExitUsage);
  CHECK(run.out.empty());
  CHECK(run.err.starts_with("framefs: "));
  CHECK(run.err.size() > std::string("framefs: ").size() + 5);
}

TEST_CASE("cli: two paths are enough, and the rest has its defaults", "[src][cli][unit]") {
  const auto command = command_of({"/src", "/mnt"});
  CHECK(command.mount.source == "/src");
  CHECK(command.mount.mountpoint == "/mnt");
  CHECK_FALSE(command.mount.keep_suffix);
  CHECK(command.mount.arrays == fs::ArrayViews::npy);
  CHECK(command.mount.source_offset == 0);
  CHECK_FALSE(command.mount.onto_file);
  CHECK_FALSE(command.mount.allow_other);
  CHECK_FALSE(command.mount.debug);
  CHECK(command.mount.cache_bytes == fs::default_buffer_bytes(fs::memory_limit()));
  CHECK(command.mount.threads == 0);
  CHECK(command.mount.attr_timeout_ms == 1000);
  CHECK(command.mount.vfs_options.empty());
  CHECK_FALSE(command.foreground);
  CHECK_FALSE(command.check_only);
  CHECK(command.log_file.empty());
}

TEST_CASE("cli: paths are made absolute, for a daemon leaves its directory", "[src][cli][unit]") {
  const auto here = std::filesystem::current_path();
  const auto command = command_of({"src", "sub/mnt"});
  CHECK(command.mount.source == here / "src");
  CHECK(command.mount.mountpoint == here / "sub/mnt");
}

TEST_CASE("cli: the subcommand may be said", "[src][cli][unit]") {
  const auto command = command_of({"mount", "/src", "/mnt", "-f"});
  CHECK(command.mount.source == "/src");
  CHECK(command.foreground);
}

TEST_CASE("cli: every option has its effect", "[src][cli][unit]") {
  CHECK(command_of({"-f", "/s", "/m"}).foreground);
  CHECK(command_of({"--foreground", "/s", "/m"}).foreground);
  CHECK(command_of({"--keep-suffix", "/s", "/m"}).mount.keep_suffix);
  CHECK(command_of({"--allow-other", "/s", "/m"}).mount.allow_other);
  CHECK(command_of({"/s", "/m", "--threads", "7"}).mount.threads == 7);
  CHECK(command_of({"/s", "/m", "--threads=1024"}).mount.threads == 1024);
  CHECK(command_of({"/s", "/m", "--log-file", "/l"}).log_file == "/l");
  for (const auto* const flag : {"-d", "--debug"}) {
    const auto command = command_of({flag, "/s", "/m"});
    CHECK(command.mount.debug);
    CHECK(command.foreground);  // the trace is written to stderr
  }
}

TEST_CASE("cli: arrays are shown as NumPy files, as their bytes, or as both", "[src][cli][unit]") {
  CHECK(command_of({"/s", "/m", "--arrays", "npy"}).mount.arrays == fs::ArrayViews::npy);
  CHECK(command_of({"/s", "/m", "--arrays", "raw"}).mount.arrays == fs::ArrayViews::raw);
  CHECK(command_of({"/s", "/m", "-o", "arrays=both"}).mount.arrays == fs::ArrayViews::both);
  for (const auto* const text : {"", "none", "NPY", "npy,raw", "0", "1", "7", "-1"}) {
    check_refused({"/s", "/m", std::string("--arrays=") + text});
  }
}

TEST_CASE("cli: the options for written data have their effect", "[src][cli][unit]") {
  const auto plain = command_of({"/s", "/m"}).mount;
  CHECK_FALSE(plain.read_only);
  CHECK_FALSE(plain.writeback);
  CHECK(plain.write.rules.empty());
  CHECK(plain.write.plain_globs.empty());
  CHECK(plain.write.overlay_bytes == fs::default_buffer_bytes(fs::memory_limit()));
  CHECK(plain.write.commit_interval_ms == 5000);
  CHECK(command_of({"/s", "/m", "-o", "ro"}).mount.read_only);
  CHECK(command_of({"/s", "/m", "--ro"}).mount.read_only);
  CHECK_FALSE(command_of({"/s", "/m", "-o", "ro,rw"}).mount.read_only);
  CHECK(command_of({"/s", "/m", "-o", "rw,ro"}).mount.read_only);
  CHECK(command_of({"/s", "/m", "-o", "writeback"}).mount.writeback);
  const auto given = command_of({"--rule", "*.a:codec=lz4,clevel=1", "--plain", "*.b", "--rule",
                                 "*:clevel=9", "--plain", "c/*", "/s", "/m", "--overlay-size", "1G",
                                 "--commit-interval", "0.25"})
                         .mount.write;
  REQUIRE(given.rules.size() == 2);
  CHECK(given.rules[0].glob == "*.a");
  CHECK(given.rules[0].frame.codec == codec::CodecId::lz4);
  CHECK(given.rules[1].frame.clevel == 9);
  CHECK(given.plain_globs == Words{"*.b", "c/*"});
  CHECK(given.overlay_bytes == 1u << 30);
  CHECK(given.commit_interval_ms == 250);
  check_refused({"/s", "/m", "--rule", "*.a"});
  check_refused({"/s", "/m", "--rule", "*.a:codec=none"});
  check_refused({"/s", "/m", "--rule", "*.a:typesize=8", "--chunk-size", "4"});
  check_refused({"/s", "/m", "--typesize", "8", "--chunk-size", "4"});
  check_refused({"/s", "/m", "--level", "10"});
  check_refused({"/s", "/m", "--immutable", "--level", "1"});
  check_refused({"s3://bucket/prefix", "/m", "--codec", "lz4"});
  check_refused({"/s", "/m", "--commit-interval", "-1"});
  check_refused({"/s", "/m", "--overlay-size", "much"});
}

TEST_CASE("cli: new files are stored as the options say, and as a rule says of the others",
          "[src][cli][unit]") {
  const auto plain = command_of({"/s", "/m"}).mount.write.defaults;
  CHECK(plain.codec == codec::CodecId::zstd);
  CHECK_FALSE(plain.clevel);
  CHECK(plain.chunksize == 1u << 20);
  // The rule comes first: the order of options means nothing.
  const auto write = command_of({"/s", "/m", "--rule", "*.a:level=3,checksums=no", "--codec",
                                 "lz4hc", "--level", "9", "--filter", "none", "--typesize", "2",
                                 "--chunk-size", "64K", "--block-size", "4K", "--checksums"})
                         .mount.write;
  REQUIRE(write.rules.size() == 1);
  const auto& rule = write.rules.front().frame;
  for (const auto& frame : {write.defaults, rule}) {
    CHECK(frame.codec == codec::CodecId::lz4hc);
    CHECK(frame.filter == codec::FilterChoice::none);
    CHECK(frame.typesize == 2U);
    CHECK(frame.chunksize == 64u << 10);
    CHECK(frame.blocksize == 4096);
  }
  CHECK(write.defaults.clevel == 9);
  CHECK(write.defaults.checksums);
  CHECK(rule.clevel == 3);
  CHECK_FALSE(rule.checksums);
  const auto words = command_of({"/s", "/m", "-o", "codec=lz4,chunk_size=8M"}).mount.write.defaults;
  CHECK(words.codec == codec::CodecId::lz4);
  CHECK(words.chunksize == 8u << 20);
}

TEST_CASE("cli: an offset is a size", "[src][cli][unit]") {
  CHECK(command_of({"/s", "/m", "--offset", "0"}).mount.source_offset == 0);
  CHECK(command_of({"/s", "/m", "--offset", "1001"}).mount.source_offset == 1001);
  CHECK(command_of({"/s", "/m", "--offset=1M"}).mount.source_offset == 1u << 20);
  CHECK(command_of({"/s", "/m", "-o", "offset=4K"}).mount.source_offset == 4096);
  for (const auto* const text : {"", "-1", "start", "0x10", "1.5"}) {
    check_refused({"/s", "/m", std::string("--offset=") + text});
  }
}

TEST_CASE("cli: sizes have units of 1024", "[src][cli][unit]") {
  struct Row {
    const char* text;
    std::uint64_t bytes;
  };
  for (const auto& row :
       {Row{"0", 0}, Row{"1", 1}, Row{"1000", 1000}, Row{"4k", 4096}, Row{"4K", 4096},
        Row{"64M", 64u << 20}, Row{"64m", 64u << 20}, Row{"64MB", 64u << 20},
        Row{"64MiB", 64u << 20}, Row{"64mib", 64u << 20}, Row{"2G", 2ULL << 30},
        Row{"1T", 1ULL << 40}, Row{"7b", 7}, Row{"15E", 15ULL << 60}}) {
    CAPTURE(row.text);
    CHECK(command_of({"/s", "/m", "--cache-size", row.text}).mount.cache_bytes == row.bytes);
  }
  for (const auto* const text :
       {"", "M", "abc", "64X", "64MM", "-1", "-1M", "1.5G", "0x10", "1,5", "64 M", " 64M", "16E",
        "99999999999999999999", "99999999999E", "64M64M"}) {
    check_refused({"/s", "/m", std::string("--cache-size=") + text});
  }
}

TEST_CASE("cli: numbers outside of their range are refused", "[src][cli][unit]") {
  for (const auto* const text : {"-1", "1025", "two", "1.5", "", "4294967297"}) {
    check_refused({"/s", "/m", std::string("--threads=") + text});
  }
  for (const auto* const text : {"-1", "-0.1", "86401", "soon", "", "nan", "-nan", "inf", "1e30"}) {
    check_refused({"/s", "/m", std::string("--attr-timeout=") + text});
  }
}

TEST_CASE("cli: the attribute timeout is taken to the nearest millisecond", "[src][cli][unit]") {
  struct Row {
    const char* text;
    unsigned ms;
  };
  for (const auto& row :
       {Row{"0", 0}, Row{"1", 1000}, Row{"0.5", 500}, Row{"0.001", 1}, Row{"1.001", 1001},
        Row{"0.29", 290}, Row{"86400", 86'400'000}, Row{"2m", 120'000}}) {
    CAPTURE(row.text);
    CHECK(command_of({"/s", "/m", "--attr-timeout", row.text}).mount.attr_timeout_ms == row.ms);
  }
}

TEST_CASE("cli: a mount ends by itself only if asked to", "[src][cli][unit]") {
  CHECK(command_of({"/s", "/m"}).mount.idle_ms == 0);
  CHECK(command_of({"/s", "/m", "--idle", "10m"}).mount.idle_ms == 600'000);
  CHECK(command_of({"/s", "/m", "-o", "idle=30d"}).mount.idle_ms == 2'592'000'000);
  check_refused({"/s", "/m", "--idle=31d"});
}

TEST_CASE("cli: -o takes the words of mount(8)", "[src][cli][unit]") {
  for (const Words& words :
       {Words{"-o", "ro,noexec,cache_size=64M,keep_suffix,nodev", "/s", "/m"},
        Words{"/s", "/m", "-o", "noexec,cache_size=64M,keep_suffix,nodev"},
        Words{"/s", "-onoexec,cache_size=64M", "/m", "-o", "keep_suffix,nodev"},
        Words{"-o", "noexec,nodev,cache_size=64M,keep_suffix", "/s", "/m"}}) {
    const auto command = command_of(words);
    CHECK(command.mount.source == "/s");
    CHECK(command.mount.mountpoint == "/m");
    CHECK(command.mount.cache_bytes == 64u << 20);
    CHECK(command.mount.keep_suffix);
    CHECK(command.mount.vfs_options == Words{"noexec", "nodev"});
  }
}

// Options with a list of values must not take paths, or flags after them, as further values.
TEST_CASE("cli: paths after -o stay paths", "[src][cli][unit]") {
  for (const Words& words : {Words{"-o", "noexec", "/s", "/m", "-f"},
                             Words{"-f", "-o", "noexec", "/s", "/m", "--keep-suffix"},
                             Words{"-o", "noexec", "/s", "-o", "nodev", "/m", "--threads", "2"}}) {
    const auto command = command_of(words);
    CHECK(command.mount.source == "/s");
    CHECK(command.mount.mountpoint == "/m");
    CHECK(command.mount.vfs_options.front() == "noexec");
  }
  check_refused({"-o", "noexec", "/s", "/m", "/extra"});
}

TEST_CASE("cli: wrong command lines are usage errors", "[src][cli][unit]") {
  for (const Words& words :
       {Words{}, Words{"/s"}, Words{"mount"}, Words{"mount", "/s"}, Words{"/s", "/m", "/extra"},
        Words{"/s", "/m", "--frobnicate"}, Words{"/s", "/m", "-x"}, Words{"/s", "/m", "-o"},
        Words{"/s", "/m", "-o", "frobnicate"}, Words{"/s", "/m", "-o", "cache_size=much"},
        Words{"/s", "/m", "--threads"}, Words{"/s", "/m", "--cache-size"},
        // The flags of mount(8) are only for its helper.
        Words{"/s", "/m", "-n"}, Words{"/s", "/m", "-s"}, Words{"/s", "/m", "-v"}}) {
    check_refused(words);
  }
  CHECK(run_as("framefs", {"/s", "/m", "-o", "ro,frobnicate"}).err.find("frobnicate") !=
        std::string::npos);
}

TEST_CASE("cli: --help and --version answer and are no error", "[src][cli][unit]") {
  for (const auto* const flag : {"--help", "-h"}) {
    const auto run = run_as("framefs", {flag});
    CHECK_FALSE(run.parsed.command);
    CHECK(run.parsed.exit_code == kExitOk);
    CHECK(run.err.empty());
    for (const auto* const option :
         {"SOURCE", "MOUNTPOINT", "--foreground", "--keep-suffix", "--arrays", "--offset",
          "--allow-other", "--cache-size", "--threads", "--attr-timeout", "--log-file", "--debug",
          "-o OPTION"}) {
      CAPTURE(option);
      CHECK(run.out.find(option) != std::string::npos);
    }
    // The internal options that mount(8)'s options become are not documented.
    CHECK(run.out.find("--vfs") == std::string::npos);
    CHECK(run.out.find("--check-only") == std::string::npos);
  }
  for (const auto* const flag : {"--version", "-V"}) {
    const auto run = run_as("framefs", {flag, "/s"});
    CHECK_FALSE(run.parsed.command);
    CHECK(run.parsed.exit_code == kExitOk);
    CHECK(run.out.starts_with("framefs "));
  }
}

// Source: mount(8), "External helpers": mount.TYPE SPEC DIR [-sfnv] [-o OPTIONS].
TEST_CASE("cli: as mount.framefs it takes the flags that mount(8) passes", "[src][cli][unit]") {
  const std::string helper = "/sbin/mount.framefs";
  const auto plain = command_of({"/s", "/m", "-n", "-v", "-s", "-o", "rw,nosuid,_netdev"}, helper);
  CHECK(plain.mount.source == "/s");
  CHECK(plain.mount.mountpoint == "/m");
  CHECK(plain.mount.vfs_options == Words{"nosuid"});
  CHECK_FALSE(plain.check_only);
  CHECK_FALSE(plain.foreground);
  const auto fake = command_of({"/s", "/m", "-f"}, helper);
  CHECK(fake.check_only);
  CHECK_FALSE(fake.foreground);  // -f has another meaning here
  check_refused({"/s", "/m", "-x"}, helper);
  check_refused({"/s"}, helper);
}

}  // namespace
}  // namespace framefs::mount_command_test
