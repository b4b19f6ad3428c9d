#include "codec/container/zip_directory.h"

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/bytes.h"
#include "tests/support/catch.h"
#include "tests/support/damage.h"
#include "tests/support/outcome.h"
#include "tests/support/sample_data.h"
#include "tests/support/source_doubles.h"
#include "tests/support/zip_builder.h"

namespace framefs::codec::zip_directory_test {
namespace {

using test::build_zip;
using test::Bytes;
using test::counting;
using test::outcome;
using test::put_le;
using test::ZipSpec;

Result<ZipDirectory> read(const Bytes& archive, const ContainerLimits& limits = {}) {
  return ZipDirectory::read(MemorySource(archive), limits);
}

std::vector<std::string> names(const ZipDirectory& directory) {
  std::vector<std::string> out;
  for (const auto& member : directory.members()) out.push_back(member.name);
  return out;
}

// The location of the bytes of the only member.
Result<ByteRange> locate(const Bytes& archive) {
  const auto directory = read(archive).value();
  REQUIRE(directory.members().size() == 1);
  return locate_member(MemorySource(archive), directory.members()[0]);
}

// Oracle: the archive that was laid out.
void check_round_trip(const ZipSpec& spec) {
  const auto zip = build_zip(spec);
  const MemorySource source(zip.bytes);
  const auto directory = ZipDirectory::read(source, {});
  INFO(outcome(directory));
  REQUIRE(directory);
  REQUIRE(directory->members().size() == spec.files.size());
  CHECK(directory->refused_names() == 0);
  for (std::size_t i = 0; i < spec.files.size(); ++i) {
    const auto& member = directory->members()[i];
    CHECK(member.name == spec.files[i].name);
    CHECK(member.size == spec.files[i].content.size());
    CHECK(member.form == ZipForm::stored);
    const auto place = locate_member(source, member);
    INFO(outcome(place));
    REQUIRE(place);
    CHECK(*place == ByteRange{zip.data_at[i], spec.files[i].content.size()});
  }
}

ZipSpec three_files() {
  return {.files = {{.name = "a.b2nd", .content = counting(100)},
                    {.name = "dir/sub/b.b2f", .content = counting(7), .comment = "remark"},
                    {.name = "embed.b2e", .local_extra = counting(9)}}};
}

TEST_CASE("zip_directory: members are found behind their local headers",
          "[codec][zip_directory][unit]") {
  check_round_trip({});
  check_round_trip(three_files());
  auto spec = three_files();
  spec.comment = "made for a test";
  check_round_trip(spec);
  spec.comment = std::string(0xFFFF, 'c');
  check_round_trip(spec);
}

TEST_CASE("zip_directory: the 64-bit extensions are read", "[codec][zip_directory][unit]") {
  auto spec = three_files();
  for (auto& file : spec.files) file.wide = true;
  check_round_trip(spec);
  spec.wide_end = true;
  check_round_trip(spec);
  check_round_trip({.wide_end = true});
}

// Written by Python's zipfile: a member with a wide local header, an empty member, a comment.
TEST_CASE("zip_directory: an archive of Python's is read", "[codec][zip_directory][unit]") {
  const std::string hex =
      "504b03041400000000008318225857ee719205000000050000000a0000006469"
      "722f612e62326e646669727374504b0304140000000000831822582846c9b00a"
      "0000000a00000008001400776964652e623266010010000a000000000000000a"
      "000000000000007365636f6e64206f6e65504b03041400000000008318225800"
      "000000000000000000000009000000656d6265642e623265504b010214031400"
      "000000008318225857ee719205000000050000000a0000000000000000000000"
      "8001000000006469722f612e62326e64504b0102140314000000000083182258"
      "2846c9b00a0000000a00000008000000000000000000000080012d0000007769"
      "64652e623266504b010214031400000000008318225800000000000000000000"
      "0000090000000000000000000000800171000000656d6265642e623265504b05"
      "060000000003000300a5000000980000000f006d616465206279207a69706669"
      "6c65";
  Bytes archive;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    archive.push_back(static_cast<std::byte>(std::stoul(hex.substr(i, 2), nullptr, 16)));
  }
  const auto directory = read(archive).value();
  CHECK(names(directory) == std::vector<std::string>{"dir/a.b2nd", "wide.b2f", "embed.b2e"});
  const std::vector<ByteRange> expect = {{40, 5}, {103, 10}, {152, 0}};
  for (std::size_t i = 0; i < expect.size(); ++i) {
    CHECK(locate_member(MemorySource(archive), directory.members()[i]).value() == expect[i]);
  }
}

TEST_CASE("zip_directory: the end record is the one that ends the archive",
          "[codec][zip_directory][unit]") {
  // A comment that contains the end record of another archive.
  const auto other = build_zip({});
  auto spec = three_files();
  const auto inner = std::string_view(test::as_chars(other.bytes.data()), other.bytes.size());
  spec.comment = "before " + std::string(inner) + " behind";
  check_round_trip(spec);
  // Bytes that were appended to the archive do not belong to it.
  auto zip = build_zip(three_files());
  test::append(zip.bytes, std::string_view("more"));
  CHECK(names(read(zip.bytes).value()).size() == 3);
  zip = build_zip(three_files());
  test::append(zip.bytes, Bytes(0xFFFF));
  CHECK(names(read(zip.bytes).value()).size() == 3);
  test::append(zip.bytes, Bytes(1));
  CHECK(outcome(read(zip.bytes)).starts_with("bad field: zip end record"));
}

TEST_CASE("zip_directory: of members with one name the last counts",
          "[codec][zip_directory][unit]") {
  const auto zip = build_zip({.files = {{.name = "a", .content = counting(1)},
                                        {.name = "b", .content = counting(2)},
                                        {.name = "a", .content = counting(3)}}});
  const auto directory = read(zip.bytes).value();
  CHECK(names(directory) == std::vector<std::string>{"b", "a"});
  CHECK(directory.members()[1].size == 3);
}

TEST_CASE("zip_directory: names that lead elsewhere are left out and counted",
          "[codec][zip_directory][corrupt]") {
  const auto zip = build_zip({.files = {{.name = "/etc/passwd"},
                                        {.name = "../up"},
                                        {.name = "a/../../b"},
                                        {.name = "a//b"},
                                        {.name = "./a"},
                                        {.name = ""},
                                        {.name = std::string("nul\0", 4)},
                                        {.name = "good"},
                                        {.name = "directory/"},
                                        {.name = "../"}}});
  const auto directory = read(zip.bytes).value();
  CHECK(names(directory) == std::vector<std::string>{"a", "good"});
  CHECK(directory.refused_names() == 6);
}

TEST_CASE("zip_directory: compressed and encrypted members are listed but not read",
          "[codec][zip_directory][unit]") {
  const auto zip =
      build_zip({.files = {{.name = "deflated", .content = counting(9), .method = 8},
                           {.name = "locked", .content = counting(9), .flags = 1},
                           {.name = "strong", .content = counting(9), .flags = 0x41},
                           {.name = "plain", .content = counting(9), .flags = 0x808}}});
  const auto directory = read(zip.bytes).value();
  REQUIRE(directory.members().size() == 4);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto& member = directory.members()[i];
    INFO(member.name);
    CHECK(member.form == ZipForm::packed);
    CHECK(outcome(locate_member(MemorySource(zip.bytes), member)) ==
          "unsupported: zip method at " + std::to_string(zip.local_at[i]));
  }
  CHECK(locate_member(MemorySource(zip.bytes), directory.members()[3]));
}

TEST_CASE("zip_directory: a damaged member harms no other", "[codec][zip_directory][corrupt]") {
  const auto good = build_zip({.files = {{.name = "a", .content = counting(50)},
                                         {.name = "b", .content = counting(50)},
                                         {.name = "c", .content = counting(50)}}});
  const auto entry = good.entry_at[1];
  const auto local = good.local_at[1];
  struct Case {
    const char* what;
    std::size_t at;
    std::uint32_t value;
    std::string expect;
  };
  const auto at = [](const std::string& text, std::size_t place) {
    return text + " at " + std::to_string(place);
  };
  for (const auto& c : std::vector<Case>{
           {"two sizes", entry + 20, 49, at("bad field: zip member size", local)},
           {"header beyond the directory", entry + 42, 0x7fffffff,
            at("truncated: zip local header", 0x7fffffff)},
           {"header at the directory", entry + 42, static_cast<std::uint32_t>(good.directory_at),
            at("truncated: zip local header", good.directory_at)},
           {"header of the first", entry + 42, 0, at("bad field: zip member name", 26)},
           {"header one off", entry + 42, static_cast<std::uint32_t>(local + 1),
            at("bad field: zip local header", local + 1)},
           {"local signature", local, 0, at("bad field: zip local header", local)},
           {"local method", local + 8, 8, at("bad field: zip local header", local + 6)},
           {"local name and extra too long", local + 26, 0xffffffff,
            at("truncated: zip member", local)},
           {"local extra over the neighbour", local + 28, 1, at("truncated: zip member", local)},
           {"local name", local + 30, 'x', at("bad field: zip member name", local + 26)},
       }) {
    INFO(c.what);
    Bytes damaged = good.bytes;
    put_le(damaged, c.at, c.value);
    const MemorySource source(damaged);
    const auto directory = ZipDirectory::read(source, {}).value();
    REQUIRE(names(directory) == std::vector<std::string>{"a", "b", "c"});
    CHECK(outcome(locate_member(source, directory.members()[1])) == c.expect);
    if (c.what != std::string_view("header of the first")) {
      CHECK(locate_member(source, directory.members()[0]));
    }
    CHECK(locate_member(source, directory.members()[2]));
  }
}

TEST_CASE("zip_directory: a member that lies over the next one is refused",
          "[codec][zip_directory][corrupt]") {
  const auto good = build_zip({.files = {{.name = "a", .content = counting(50)}, {.name = "b"}}});
  Bytes damaged = good.bytes;
  put_le<std::uint32_t>(damaged, good.entry_at[0] + 20, 51);
  put_le<std::uint32_t>(damaged, good.entry_at[0] + 24, 51);
  const auto directory = read(damaged).value();
  CHECK(outcome(locate_member(MemorySource(damaged), directory.members()[0])) ==
        "truncated: zip member at 0");
}

TEST_CASE("zip_directory: sizes that only wrap into place are refused",
          "[codec][zip_directory][corrupt]") {
  const auto good = build_zip({.files = {{.name = "a", .content = counting(5), .wide = true}}});
  const auto extra = good.entry_at[0] + 46 + 1 + 6 + 4;
  CHECK(locate(good.bytes));
  for (const std::uint64_t size : {~0ULL, ~0ULL - 4, 1ULL << 63, 1ULL << 32}) {
    Bytes damaged = good.bytes;
    put_le(damaged, extra, size);
    put_le(damaged, extra + 8, size);
    CHECK(outcome(locate(damaged)) == "truncated: zip member at 0");
    damaged = good.bytes;
    put_le(damaged, extra + 16, size);
    CHECK(outcome(locate(damaged)).starts_with("truncated: zip local header"));
  }
}

TEST_CASE("zip_directory: an extension that lacks a number leaves the member unreadable",
          "[codec][zip_directory][corrupt]") {
  auto good = build_zip({.files = {{.name = "a", .content = counting(5), .wide = true}}});
  put_le<std::uint16_t>(good.bytes, good.entry_at[0] + 46 + 1 + 6 + 2, 16);  // without the offset
  CHECK(outcome(locate(good.bytes)) == "truncated: zip local header at 4294967295");
  put_le<std::uint16_t>(good.bytes, good.entry_at[0] + 46 + 1 + 6 + 2, 0xffff);
  CHECK(outcome(locate(good.bytes)) == "truncated: zip local header at 4294967295");
}

TEST_CASE("zip_directory: an end record that does not fit the archive is refused",
          "[codec][zip_directory][corrupt]") {
  const auto good = build_zip(three_files());
  const auto with = [&](std::size_t at, auto value) {
    Bytes damaged = good.bytes;
    put_le(damaged, good.end_at + at, value);
    return outcome(read(damaged));
  };
  const auto end = std::to_string(good.end_at);
  CHECK(with(4, std::uint16_t{1}) ==
        "unsupported: zip disks at " + std::to_string(good.end_at + 4));
  CHECK(with(6, std::uint16_t{1}) ==
        "unsupported: zip disks at " + std::to_string(good.end_at + 4));
  CHECK(with(10, std::uint16_t{4}) == "bad field: zip members at " + end);
  CHECK(with(10, std::uint16_t{0x7fff}) == "bad field: zip members at " + end);
  CHECK(with(12, std::uint32_t{0x7fffffff}) == "bad field: zip directory at " + end);
  CHECK(with(16, std::uint32_t{0x7fffffff}) == "bad field: zip directory at " + end);
  CHECK(with(16, static_cast<std::uint32_t>(good.directory_at + 1)) ==
        "bad field: zip directory at " + end);
  CHECK(with(12, std::uint32_t{0}) == "bad field: zip members at " + end);
  // A number smaller than the actual one does no harm.
  CHECK(with(10, std::uint16_t{2}) == "ok");
}

TEST_CASE("zip_directory: where the directory begins too early, members are not found",
          "[codec][zip_directory][corrupt]") {
  // As if one byte preceded the archive.
  auto damaged = build_zip(three_files());
  put_le(damaged.bytes, damaged.end_at + 16, static_cast<std::uint32_t>(damaged.directory_at - 1));
  const auto directory = read(damaged.bytes).value();
  REQUIRE(directory.members().size() == 3);
  for (const auto& member : directory.members()) {
    CHECK(outcome(locate_member(MemorySource(damaged.bytes), member)) ==
          "bad field: zip local header at " + std::to_string(member.header_at));
  }
}

TEST_CASE("zip_directory: an entry that passes the directory's end is refused",
          "[codec][zip_directory][corrupt]") {
  const auto good = build_zip(three_files());
  for (const std::size_t field : {28U, 30U, 32U}) {  // lengths of name, extension, comment
    Bytes damaged = good.bytes;
    put_le<std::uint16_t>(damaged, good.entry_at[2] + field, 0xffff);
    INFO(outcome(read(damaged)));
    CHECK(outcome(read(damaged)).starts_with("truncated: zip entry at "));
  }
  Bytes damaged = good.bytes;
  put_le<std::uint32_t>(damaged, good.entry_at[1], 0);
  CHECK(outcome(read(damaged)) == "bad field: zip entry at " + std::to_string(good.entry_at[1]));
}

TEST_CASE("zip_directory: a 64-bit end record that does not fit is refused",
          "[codec][zip_directory][corrupt]") {
  auto spec = three_files();
  spec.wide_end = true;
  const auto good = build_zip(spec);
  const auto with = [&](std::size_t at, auto value) {
    Bytes damaged = good.bytes;
    put_le(damaged, at, value);
    return outcome(read(damaged));
  };
  const auto end = std::to_string(good.end_at);
  for (const auto at :
       std::vector<std::uint64_t>{~0ULL, ~0ULL - 55, 1ULL << 63, good.locator_at - 55}) {
    CHECK(with(good.locator_at + 8, at) ==
          "bad field: zip64 locator at " + std::to_string(good.locator_at + 8));
  }
  CHECK(with(good.locator_at + 8, std::uint64_t{0}) == "bad field: zip64 end record at 0");
  CHECK(with(good.end_64_at + 16, 1U) ==
        "unsupported: zip disks at " + std::to_string(good.end_64_at + 16));
  for (const std::uint64_t number : {~0ULL, 1ULL << 63, 1ULL << 40}) {
    CHECK(with(good.end_64_at + 48, number) == "bad field: zip directory at " + end);
    CHECK(with(good.end_64_at + 40, number) == "bad field: zip directory at " + end);
    CHECK(with(good.end_64_at + 32, number) == "over limit: zip members at " + end);
  }
  // Without a locator, the short record is used, and its numbers are invalid.
  CHECK(with(good.locator_at, 0U) == "bad field: zip directory at " + end);
}

TEST_CASE("zip_directory: limits hold before anything is allocated",
          "[codec][zip_directory][corrupt]") {
  const auto zip = build_zip(three_files());
  const auto directory_bytes = zip.end_at - zip.directory_at;
  CHECK(read(zip.bytes, {.directory_bytes = directory_bytes, .members = 3}));
  CHECK(outcome(read(zip.bytes, {.directory_bytes = directory_bytes - 1}))
            .starts_with("over limit: zip directory"));
  CHECK(outcome(read(zip.bytes, {.members = 2})).starts_with("over limit: zip members"));
  // An archive of a terabyte that consists of its directory.
  ZipSpec spec;
  spec.wide_end = true;
  auto tail = build_zip(spec);
  const std::uint64_t before = 1ULL << 40;
  put_le(tail.bytes, tail.end_64_at + 40, before);
  put_le(tail.bytes, tail.end_64_at + 48, std::uint64_t{0});
  put_le(tail.bytes, tail.locator_at + 8, before);
  // VastSource has its bytes at the front; this source has zeros before them.
  class Behind final : public ByteSource {
   public:
    Behind(const Bytes& bytes, std::uint64_t at) : bytes_(bytes), at_(at) {}
    Status read_at(std::uint64_t offset, std::span<std::byte> out) const override {
      largest = std::max(largest, out.size());
      for (std::size_t i = 0; i < out.size(); ++i) {
        const auto place = offset + i;
        out[i] = place < at_ ? std::byte{0} : bytes_.at(place - at_);
      }
      return {};
    }
    Result<std::uint64_t> size() const override { return at_ + bytes_.size(); }
    mutable std::size_t largest = 0;

   private:
    const Bytes& bytes_;
    const std::uint64_t at_;
  };
  const Behind source(tail.bytes, before);
  CHECK(outcome(ZipDirectory::read(source, {})).starts_with("over limit: zip directory"));
  CHECK(source.largest < 70000);
}

TEST_CASE("zip_directory: listing does not touch the members", "[codec][zip_directory][unit]") {
  ZipSpec spec;
  for (int i = 0; i < 1000; ++i) {
    spec.files.push_back({.name = "f" + std::to_string(i), .content = counting(100)});
  }
  const auto zip = build_zip(spec);
  const MemorySource memory(zip.bytes);
  const test::RecordingSource source(memory);
  const auto directory = ZipDirectory::read(source, {}).value();
  CHECK(directory.members().size() == 1000);
  CHECK(source.reads().size() == 2);  // the archive's end and the directory
  CHECK(locate_member(source, directory.members()[500]));
  CHECK(source.reads().size() == 4);
}

TEST_CASE("zip_directory: every truncated prefix is refused", "[codec][zip_directory][corrupt]") {
  for (const bool wide : {false, true}) {
    auto spec = three_files();
    spec.wide_end = wide;
    const auto zip = build_zip(spec);
    for (std::size_t n = 0; n < zip.bytes.size(); ++n) {
      INFO("prefix of " << n << " bytes");
      CHECK_FALSE(read(Bytes(zip.bytes.begin(), zip.bytes.begin() + static_cast<int>(n))));
    }
  }
}

TEST_CASE("zip_directory: a failing source fails the call", "[codec][zip_directory][corrupt]") {
  auto spec = three_files();
  spec.wide_end = true;
  const auto zip = build_zip(spec);
  const MemorySource memory(zip.bytes);
  const auto member = read(zip.bytes).value().members()[0];
  for (int failing = 1; failing <= 4; ++failing) {
    const test::FailingSource source(memory, failing);
    CHECK(outcome(ZipDirectory::read(source, {})).starts_with("system error"));
  }
  for (int failing = 1; failing <= 2; ++failing) {
    const test::FailingSource source(memory, failing);
    CHECK(outcome(locate_member(source, member)).starts_with("system error"));
  }
}

// Oracle: every located range ends before the directory.
TEST_CASE("zip_directory: any flipped bit gives an error or members inside the archive",
          "[codec][zip_directory][corrupt]") {
  auto spec = three_files();
  spec.wide_end = true;
  spec.files[0].wide = true;
  const auto zip = build_zip(spec);
  const auto probe = [](std::span<const std::byte> bytes) -> std::string {
    const MemorySource source(bytes);
    const auto directory = ZipDirectory::read(source, {});
    if (!directory) return directory.error().kind == Errc::internal ? "internal" : "";
    for (const auto& member : directory->members()) {
      const auto place = locate_member(source, member);
      if (!place) continue;
      if (place->size != member.size) return "another size";
      if (place->offset > bytes.size() || place->size > bytes.size() - place->offset) {
        return "outside of the archive";
      }
    }
    return {};
  };
  CHECK(test::first_bad_flip(zip.bytes, 0, zip.bytes.size(), probe).empty());
}

}  // namespace
}  // namespace framefs::codec::zip_directory_test
