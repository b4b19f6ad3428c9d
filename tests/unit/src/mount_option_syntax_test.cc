#include "src/cli/mount_option_syntax.h"

#include <algorithm>

#include "src/mount/mount_command.h"
#include "tests/support/catch.h"

namespace framefs::mount_option_syntax_test {
namespace {

using Options = std::vector<std::string>;

Options expanded(std::string_view words) {
  const auto options = expand_mount_options(words, mount_syntax());
  CAPTURE(words);
  REQUIRE(options);
  return *options;
}

std::string refused(std::string_view words) {
  const auto options = expand_mount_options(words, mount_syntax());
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
  for (const auto* const word :
       {"defaults", "auto", "noauto", "user", "nouser", "users", "owner", "group", "_netdev",
        "silent", "relatime", "nodiratime", "strictatime", "x-systemd.automount", "x-gvfs-name=a",
        "comment=b", ""}) {
    CHECK(expanded(word).empty());
  }
}

TEST_CASE("mount_words: a remount passes what the kernel shows of the mount",
          "[src][mount_words][unit]") {
  CHECK(expanded("nofail") == Options{"--nofail"});
  CHECK(expanded("rw,noexec,relatime,remount,user_id=0,group_id=0,default_permissions,allow_other,"
                 "max_read=131072,blksize=512") ==
        Options{"--rw", "--vfs=noexec", "--remount", "--allow-other"});
  for (const auto* const word : {"user_id=0", "default_permissions", "max_read=4096"}) {
    CHECK(refused(word).starts_with(std::string("unknown mount option: ") + word));
  }
}

TEST_CASE("mount_words: words come in any number, in their order", "[src][mount_words][unit]") {
  CHECK(expanded("ro,cache_size=1G,noexec,keep_suffix") ==
        Options{"--ro", "--cache-size=1G", "--vfs=noexec", "--keep-suffix"});
  CHECK(expanded(",,nodev,,") == Options{"--vfs=nodev"});
}

TEST_CASE("mount_words: the first word that means nothing is named", "[src][mount_words][unit]") {
  CHECK(refused("ro,frobnicate,wibble") == "unknown mount option: frobnicate");
  CHECK(refused("cache_size") == "the mount option cache_size needs a value: cache_size=SIZE");
  CHECK(refused("arrays") == "the mount option arrays needs a value: arrays=npy|raw|both");
  CHECK(refused("allow_other=yes") ==
        "the mount option allow_other takes no value: allow_other=yes");
  CHECK(refused("kep_suffix") == "unknown mount option: kep_suffix (did you mean keep_suffix?)");
  for (const auto* const word : {"noexec=1", "cache-size=1M", "=5", "RO", " ro"}) {
    CAPTURE(word);
    CHECK(refused(word).starts_with(std::string("unknown mount option: ") + word));
  }
  // Options for a terminal and hidden options are no words of -o.
  for (const auto* const word : {"foreground", "help", "version", "vfs=noexec", "check_only"}) {
    CAPTURE(word);
    CHECK(refused(word).starts_with(std::string("unknown mount option: ") + word));
  }
}

TEST_CASE("mount_words: every option of the command line has a word", "[src][mount_words][unit]") {
  const auto words = mount_words(mount_syntax());
  for (const auto* const word : {"cache_size=", "fsname=", "keep_suffix", "noexec", "ro", "rw"}) {
    CAPTURE(word);
    CHECK(std::ranges::find(words, word) != words.end());
  }
}

}  // namespace
}  // namespace framefs::mount_option_syntax_test
