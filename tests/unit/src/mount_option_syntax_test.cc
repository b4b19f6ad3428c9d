#include "src/cli/mount_option_syntax.h"

#include "tests/support/catch.h"

namespace framefs {
namespace {

using Options = std::vector<std::string>;

Options expanded(std::string_view words) {
  const auto options = expand_mount_options(words);
  CAPTURE(words);
  REQUIRE(options);
  return *options;
}

std::string refused(std::string_view words) {
  const auto options = expand_mount_options(words);
  return options ? "nothing" : options.error();
}

TEST_CASE("mount_words: options of ours become long options", "[src][mount_words][unit]") {
  CHECK(expanded("allow_other") == Options{"--allow-other"});
  CHECK(expanded("keep_suffix") == Options{"--keep-suffix"});
  CHECK(expanded("debug") == Options{"--debug"});
  CHECK(expanded("cache_size=64M") == Options{"--cache-size=64M"});
  CHECK(expanded("threads=3") == Options{"--threads=3"});
  CHECK(expanded("attr_timeout=0.5") == Options{"--attr-timeout=0.5"});
  CHECK(expanded("arrays=both") == Options{"--arrays=both"});
  CHECK(expanded("offset=4K") == Options{"--offset=4K"});
  CHECK(expanded("ro") == Options{"--ro"});
  CHECK(expanded("rw") == Options{"--rw"});
  CHECK(expanded("writeback") == Options{"--writeback"});
  CHECK(expanded("plain=*.txt") == Options{"--plain=*.txt"});
  CHECK(expanded("rule=*:codec=lz4;clevel=1,rw") == Options{"--rule=*:codec=lz4;clevel=1", "--rw"});
  CHECK(expanded("overlay_size=1G") == Options{"--overlay-size=1G"});
  CHECK(expanded("commit_interval=2") == Options{"--commit-interval=2"});
  // The value stays unchanged.
  CHECK(expanded("log_file=/a_b/c=d") == Options{"--log-file=/a_b/c=d"});
  CHECK(expanded("log_file=") == Options{"--log-file="});
}

TEST_CASE("mount_words: words of the kernel are handed on", "[src][mount_words][unit]") {
  for (const auto* const word : {"nosuid", "nodev", "noexec", "suid", "dev", "exec", "sync",
                                 "async", "noatime", "atime", "dirsync"}) {
    CHECK(expanded(word) == Options{"--vfs=" + std::string(word)});
  }
}

TEST_CASE("mount_words: words of mount(8) and fstab(5) are dropped", "[src][mount_words][unit]") {
  for (const auto* const word : {"defaults", "auto", "noauto", "user", "nouser", "users", "owner",
                                 "group", "nofail", "_netdev", "silent", "relatime", "nodiratime",
                                 "x-systemd.automount", "x-gvfs-name=a", "comment=b", ""}) {
    CHECK(expanded(word).empty());
  }
}

TEST_CASE("mount_words: words come in any number, in their order", "[src][mount_words][unit]") {
  CHECK(expanded("ro,cache_size=1G,noexec,keep_suffix") ==
        Options{"--ro", "--cache-size=1G", "--vfs=noexec", "--keep-suffix"});
  CHECK(expanded(",,nodev,,") == Options{"--vfs=nodev"});
}

TEST_CASE("mount_words: the first word that means nothing is named", "[src][mount_words][unit]") {
  CHECK(refused("ro,frobnicate,wibble") == "frobnicate");
  CHECK(refused("cache_size") == "cache_size");  // needs a value
  CHECK(refused("arrays") == "arrays");
  CHECK(refused("allow_other=yes") == "allow_other=yes");  // takes no value
  CHECK(refused("noexec=1") == "noexec=1");
  CHECK(refused("cache-size=1M") == "cache-size=1M");  // not the spelling of the command line
  CHECK(refused("=5") == "=5");
  CHECK(refused("RO") == "RO");
  CHECK(refused("vfs=noexec") == "vfs=noexec");  // internal options
  CHECK(refused("check_only") == "check_only");
  CHECK(refused(" ro") == " ro");
}

}  // namespace
}  // namespace framefs
