#include <cerrno>
#include <string>
#include <vector>

#include "fs/net/store/base64.h"
#include "fs/net/store/manifest_table.h"
#include "tests/support/catch.h"

namespace framefs::net::manifest_test {
namespace {

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::string text_of(const std::vector<std::byte>& bytes) {
  std::string text;
  for (const auto byte : bytes) text += static_cast<char>(byte);
  return text;
}

// The files of a manifest.
Result<std::vector<ManifestFile>> parsed(std::string_view json) {
  std::vector<ManifestFile> files;
  FRAMEFS_CHECK(parse_manifest(json, [&](const ManifestFile& file) -> Status {
    files.push_back(file);
    return {};
  }));
  return files;
}

ManifestFile file_with_head(const std::string& head) {
  ManifestFile file{.path = "d/x.b2frame", .entry = {}};
  file.entry.size = 100;
  file.entry.mtime_ns = 1369353600500000001;
  file.entry.etag = "\"e\"";
  file.entry.head = std::make_shared<const std::vector<std::byte>>(bytes_of(head));
  return file;
}

std::string manifest_of(const std::string& files) {
  return R"({"framefs-manifest": 1, "files": [)" + files + "]}";
}

TEST_CASE("base64: known texts and their bytes", "[net][base64][unit]") {
  const std::pair<std::string, std::string> known[] = {{"", ""},
                                                       {"f", "Zg=="},
                                                       {"fo", "Zm8="},
                                                       {"foo", "Zm9v"},
                                                       {"foob", "Zm9vYg=="},
                                                       {"fooba", "Zm9vYmE="},
                                                       {"foobar", "Zm9vYmFy"},
                                                       {"\xFF\xEF", "/+8="}};
  for (const auto& [plain, text] : known) {
    INFO(text);
    CHECK(base64_encode(bytes_of(plain)) == text);
    const auto decoded = base64_decode(text);
    REQUIRE(decoded);
    CHECK(text_of(*decoded) == plain);
  }
}

TEST_CASE("base64: other texts are refused", "[net][base64][corrupt]") {
  for (const auto* const text : {"Zg", "Zg=", "Z===", "====", "Zm9vY", "Zm 9", "Zm9\n",
                                 "Zh==", "Zm9=", "=Zm9", "Zm=v", "Zm9-", "Zg==Zg=="}) {
    INFO(text);
    CHECK_FALSE(base64_decode(text));
  }
}

TEST_CASE("manifest: a file is read back as it was written", "[net][manifest][unit]") {
  const auto file = file_with_head(std::string("head\0\xFF", 6));
  const auto text = manifest_text(file);
  REQUIRE(text);
  auto plain = file_with_head("");
  plain.path = "plain \"file\"";
  plain.entry.head = nullptr;
  const auto files = parsed(std::string(kManifestBegin) + *text + std::string(kManifestComma) +
                            *manifest_text(plain) + std::string(kManifestEnd));
  REQUIRE(files);
  REQUIRE(files->size() == 2);
  const auto& read = files->front();
  CHECK(read.path == file.path);
  CHECK(read.entry.is_exact);
  CHECK(read.entry.size == file.entry.size);
  CHECK(read.entry.mtime_ns == file.entry.mtime_ns);
  CHECK(read.entry.etag == file.entry.etag);
  REQUIRE(read.entry.head);
  CHECK(text_of(*read.entry.head) == text_of(*file.entry.head));
  CHECK((*files)[1].path == plain.path);
  CHECK_FALSE((*files)[1].entry.head);
  CHECK(parsed(std::string(kManifestBegin) + std::string(kManifestEnd))->empty());
}

TEST_CASE("manifest: an empty file has an empty head", "[net][manifest][unit]") {
  auto file = file_with_head("");
  file.entry.size = 0;
  const auto files = parsed(manifest_of(*manifest_text(file)));
  REQUIRE(files);
  REQUIRE(files->front().entry.head);
  CHECK(files->front().entry.head->empty());
}

TEST_CASE("manifest: the members of a file may be absent or unknown", "[net][manifest][unit]") {
  const auto files = parsed(
      R"({"more": [[1], {"framefs-manifest": 7}], "files": [
           {"path": "a", "more": {"path": "inner", "size": [3]}, "mtime": "no time"},
           {"size": -1, "path": "b", "etag": 5}], "framefs-manifest": 1})");
  REQUIRE(files);
  REQUIRE(files->size() == 2);
  CHECK(files->front().path == "a");
  CHECK_FALSE(files->front().entry.is_exact);
  CHECK(files->front().entry.mtime_ns == 0);
  CHECK((*files)[1].path == "b");
  CHECK_FALSE((*files)[1].entry.is_exact);
  CHECK((*files)[1].entry.etag.empty());
}

TEST_CASE("manifest: a text that is not a manifest is refused", "[net][manifest][corrupt]") {
  for (const std::string bad :
       {"", "[]", "{}", "1", "[{\"framefs-manifest\": 1, \"files\": []}]",
        R"({"framefs-manifest": 2, "files": []})", R"({"framefs-manifest": "1", "files": []})",
        R"({"files": []})", R"({"framefs-manifest": 1, "files": {}})",
        R"({"framefs-manifest": 1, "files": [1]})", R"({"framefs-manifest": 1, "files": [[]]})",
        R"({"framefs-manifest": 1, "files": [{"path": "a"}])"}) {
    INFO(bad);
    CHECK_FALSE(parsed(bad));
  }
  const auto whole = manifest_of(*manifest_text(file_with_head("head")));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    INFO("prefix of " << size << " bytes");
    CHECK_FALSE(parsed(whole.substr(0, size)));
  }
}

TEST_CASE("manifest: one of more than 128 MiB is refused with that reason",
          "[net][manifest][unit]") {
  CHECK(check_manifest_bytes(kMaxManifestBytes));
  const auto refused = check_manifest_bytes(kMaxManifestBytes + 1);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == Errc::over_limit);
  CHECK(std::string(refused.error().field) == "a manifest of more than 128 MiB");
}

TEST_CASE("manifest: nesting without end takes no stack", "[net][manifest][corrupt]") {
  CHECK_FALSE(parsed(manifest_of(R"({"path": "a", "x": )" + std::string(1 << 20, '['))));
}

TEST_CASE("manifest: paths that no file can have are left out", "[net][manifest][corrupt]") {
  for (const std::string path :
       {"", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "a/./b", "a\\u0000b"}) {
    INFO(path);
    const auto files = parsed(manifest_of(R"({"path": ")" + path + R"(", "size": 1})"));
    REQUIRE(files);
    CHECK(files->empty());
  }
  const auto long_name = std::string(256, 'n');
  CHECK(parsed(manifest_of(R"({"path": ")" + long_name + R"("})"))->empty());
}

TEST_CASE("manifest: a head that does not fit its file is left out", "[net][manifest][corrupt]") {
  const auto head_of = [](const std::string& members) {
    const auto files = parsed(manifest_of(R"({"path": "x.b2frame", )" + members + "}"));
    return files && files->size() == 1 && files->front().entry.head != nullptr;
  };
  CHECK(head_of(R"("size": 3, "head": "Zm9v")"));
  CHECK_FALSE(head_of(R"("size": 2, "head": "Zm9v")"));
  CHECK_FALSE(head_of(R"("head": "Zm9v")"));
  CHECK_FALSE(head_of(R"("size": 3, "head": "Zm9")"));
  CHECK_FALSE(head_of(R"("size": 3, "head": 3)"));
  const auto longest = std::string(kMaxManifestHeadBytes, 'h');
  CHECK(head_of(R"("size": 999999, "head": ")" + base64_encode(bytes_of(longest)) + '"'));
  CHECK_FALSE(
      head_of(R"("size": 999999, "head": ")" + base64_encode(bytes_of(longest + "h")) + '"'));
}

TEST_CASE("manifest: a name that is not UTF-8 cannot be written", "[net][manifest][unit]") {
  ManifestFile file{.path = "caf\xE9", .entry = {}};
  const auto text = manifest_text(file);
  REQUIRE_FALSE(text);
  CHECK(text.error().sys == EILSEQ);
  file.path = "caf\xC3\xA9 \xEF\xBF\xBD";
  CHECK(manifest_text(file));
}

// The names that a table lists in a folder, those of folders with a slash.
std::vector<std::string> listed(const ManifestTable& table, std::string_view folder) {
  std::vector<std::string> names;
  const auto taken = table.list(folder, [&](const RemoteEntry& entry) -> Status {
    names.push_back(entry.name + (entry.is_directory ? "/" : ""));
    return {};
  });
  CHECK(taken);
  return names;
}

TEST_CASE("manifest_table: each folder has its entries, and each folder in it once",
          "[net][manifest][unit]") {
  using Names = std::vector<std::string>;
  const auto table = ManifestTable::parse(
      manifest_of(R"({"path": "d/e/c"}, {"path": "a"}, {"path": "d.b2frame"}, {"path": "d/b"},
                     {"path": "d0"}, {"path": "d/e/d"}, {"path": "e/f/g/h"})"),
      {});
  REQUIRE(table);
  CHECK(listed(*table, "") == Names{"a", "d.b2frame", "d/", "d0", "e/"});
  CHECK(listed(*table, "d") == Names{"b", "e/"});
  CHECK(listed(*table, "d/e") == Names{"c", "d"});
  CHECK(listed(*table, "e/f") == Names{"g/"});
  CHECK(listed(*table, "x").empty());
  CHECK(listed(*table, "d/b").empty());
}

TEST_CASE("manifest_table: an entry is what the manifest says of it", "[net][manifest][unit]") {
  const auto file = file_with_head("head");
  auto empty = file_with_head("");
  empty.path = "d/empty";
  const auto table =
      ManifestTable::parse(manifest_of(*manifest_text(file) + "," + *manifest_text(empty)), {});
  REQUIRE(table);
  std::vector<RemoteEntry> entries;
  CHECK(table->list("d", [&](const RemoteEntry& entry) -> Status {
    entries.push_back(entry);
    return {};
  }));
  REQUIRE(entries.size() == 2);
  CHECK(entries[0].name == "empty");
  REQUIRE(entries[0].head);
  CHECK(entries[0].head->empty());
  CHECK(entries[1].name == "x.b2frame");
  CHECK(entries[1].is_exact);
  CHECK(entries[1].size == file.entry.size);
  CHECK(entries[1].mtime_ns == file.entry.mtime_ns);
  CHECK(entries[1].etag == file.entry.etag);
  REQUIRE(entries[1].head);
  CHECK(text_of(*entries[1].head) == "head");
}

TEST_CASE("manifest_table: the budget of listings limits it", "[net][manifest][unit]") {
  std::string files;
  for (int i = 0; i < 1000; ++i) files += R"({"path": "file )" + std::to_string(i) + R"("},)";
  files.pop_back();
  const auto text = manifest_of(files);
  ListingBudget budget(100'000);
  {
    const auto table = ManifestTable::parse(text, budget.charge());
    REQUIRE(table);
    CHECK(budget.used() == table->memory());
    CHECK(listed(*table, "").size() == 1000);
    const auto second = ManifestTable::parse(text, budget.charge());
    const auto third = ManifestTable::parse(text, budget.charge());
    REQUIRE_FALSE(third);
    CHECK(is_over_budget(third.error()));
  }
  CHECK(budget.used() == 0);
}

TEST_CASE("manifest: an error of the taker ends it", "[net][manifest][unit]") {
  const auto refuse = [](const ManifestFile&) -> Status { return over_listing_budget(); };
  const auto status = parse_manifest(manifest_of(R"({"path": "a"}, {"path": "b"})"), refuse);
  REQUIRE_FALSE(status);
  CHECK(is_over_budget(status.error()));
}

}  // namespace
}  // namespace framefs::net::manifest_test
