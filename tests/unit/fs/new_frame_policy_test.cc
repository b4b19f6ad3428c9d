#include "fs/write/new_frame_policy.h"

#include "codec/frame/frame_writer.h"
#include "tests/support/catch.h"

namespace framefs::fs::new_frame_policy_test {
namespace {

NewFileRule rule(const std::string& glob, int clevel) {
  NewFileRule made{.glob = glob, .frame = {}};
  made.frame.clevel = clevel;
  return made;
}

TEST_CASE("new_frame_policy: without rules all new files are frames of the defaults",
          "[fs][new_frame_policy][unit]") {
  WriteOptions options;
  options.defaults.codec = codec::CodecId::lz4;
  options.defaults.clevel = 3;
  options.defaults.blocksize = 4096;
  const NewFramePolicy policy(options);
  for (const auto* const path : {"x", "a/b/x.txt", ".hidden", "*"}) {
    const auto frame = policy.frame_for(path);
    REQUIRE(frame);
    CHECK(frame->encode.codec == codec::CodecId::lz4);
    CHECK(frame->encode.clevel == 3);
    CHECK(frame->encode.blocksize == 4096);
    CHECK(frame->encode.typesize == 1);
    CHECK(frame->chunksize == options.defaults.chunksize);
    CHECK_FALSE(frame->hints.typesize);
    CHECK_FALSE(frame->hints.filter);
  }
}

TEST_CASE("new_frame_policy: a level that is not given is that of the codec",
          "[fs][new_frame_policy][unit]") {
  struct Row {
    codec::CodecId codec;
    int clevel;
  };
  for (const auto& row : {Row{codec::CodecId::zstd, 2}, Row{codec::CodecId::lz4, 5},
                          Row{codec::CodecId::zlib, 5}, Row{codec::CodecId::blosclz, 5}}) {
    WriteOptions options;
    options.defaults.codec = row.codec;
    const auto frame = NewFramePolicy(options).frame_for("x");
    REQUIRE(frame);
    CHECK(frame->encode.clevel == row.clevel);
  }
}

TEST_CASE("new_frame_policy: the first rule that matches holds, and plain globs come before",
          "[fs][new_frame_policy][unit]") {
  WriteOptions options;
  options.defaults.clevel = 5;
  options.rules = {rule("*.log", 1), rule("logs/*", 2), rule("*.l?g", 3), rule("/top", 4),
                   rule("a[0-9]", 6)};
  options.plain_globs = {"*.txt", "raw/*"};
  const NewFramePolicy policy(options);
  struct Row {
    const char* path;
    int clevel;  // -1: plain
  };
  for (const auto& row :
       {Row{"x.log", 1},       Row{"d/x.log", 1},    Row{"logs/x.log", 1}, Row{"logs/x", 2},
        Row{"logs/deep/x", 2}, Row{"d/logs/x", 5},   Row{"logs", 5},       Row{"x.lag", 3},
        Row{"logs/x.lag", 2},  Row{"top", 4},        Row{"d/top", 5},      Row{"a7", 6},
        Row{"d/a7", 6},        Row{"a77", 5},        Row{"x.txt", -1},     Row{"logs/x.txt", -1},
        Row{"x.txt.log", 1},   Row{"raw/x.log", -1}, Row{"raw/d/x", -1},   Row{"d/raw/x", 5},
        Row{"raw", 5},         Row{".log", 1},       Row{"X.LOG", 5}}) {
    CAPTURE(row.path);
    const auto frame = policy.frame_for(row.path);
    CHECK((frame ? frame->encode.clevel : -1) == row.clevel);
  }
}

TEST_CASE("new_frame_policy: chunks are whole items, whatever these turn out to be",
          "[fs][new_frame_policy][unit]") {
  WriteOptions options;
  options.defaults.chunksize = 1001;
  CHECK(NewFramePolicy(options).frame_for("x")->chunksize == 1000);
  options.defaults.chunksize = 3;
  CHECK(NewFramePolicy(options).frame_for("x")->chunksize == 8);
  options.defaults.chunksize = 1000;
  options.defaults.typesize = 12;
  options.defaults.filter = codec::FilterChoice::shuffle;
  const auto frame = NewFramePolicy(options).frame_for("x");
  CHECK(frame->chunksize == 996);
  CHECK(frame->encode.typesize == 12);
  CHECK(frame->encode.filters[5].id == 1);
  CHECK(frame->hints.typesize == 12U);
  CHECK(frame->hints.filter == codec::FilterChoice::shuffle);
  CHECK(codec::encode_empty_frame({.encode = frame->encode, .chunksize = frame->chunksize}));
}

TEST_CASE("new_frame_policy: only files with the name of a NumPy file become arrays",
          "[fs][new_frame_policy][unit]") {
  WriteOptions options;
  CHECK_FALSE(NewFramePolicy(options).makes_arrays());
  options.rules.push_back(rule("*.raw", 1));
  options.rules.push_back(rule("a*", 1));
  options.rules.back().frame.arrays = true;
  const NewFramePolicy policy(options);
  CHECK(policy.makes_arrays());
  CHECK(policy.frame_for("dir/a.npy")->arrays);
  for (const auto* const path : {"a.raw", "a.npy.raw", "a", "b.npy", "a/b.npz"}) {
    CAPTURE(path);
    CHECK_FALSE(policy.frame_for(path)->arrays);
  }
}

}  // namespace
}  // namespace framefs::fs::new_frame_policy_test
