#include "fs/net/store/manifest.h"

#include <cerrno>
#include <cstdint>
#include <utility>

#include <nlohmann/json.hpp>

#include "fs/core/files/file.h"
#include "fs/net/http/timestamp.h"
#include "fs/net/store/base64.h"

namespace framefs::net {
namespace {

using Json = nlohmann::ordered_json;

// Whether no segment is empty, "." or "..", or has a zero byte.
bool is_object_path(std::string_view path) {
  while (true) {
    const auto slash = path.find('/');
    if (!is_file_name(path.substr(0, slash))) return false;
    if (slash == path.npos) return true;
    path.remove_prefix(slash + 1);
  }
}

// Reads a manifest as a stream of values, because the values together would take several times the
// memory of the text.
class ManifestReader final : public nlohmann::json_sax<Json> {
 public:
  explicit ManifestReader(const TakeManifestFile& take) : take_(take) {}

  [[nodiscard]] bool is_manifest() const { return version_ == 1 && has_files_; }
  [[nodiscard]] const Status& taken() const { return taken_; }

  bool null() override { return note_scalar(); }
  bool boolean(bool) override { return note_scalar(); }
  bool number_integer(std::int64_t) override { return note_scalar(); }
  bool number_float(double, const std::string&) override { return note_scalar(); }
  bool binary(Json::binary_t&) override { return note_scalar(); }
  bool number_unsigned(std::uint64_t value) override {
    if (depth_ == kTop && key_ == "framefs-manifest") version_ = value;
    if (is_in_file() && key_ == "size") {
      file_.entry.size = value;
      file_.entry.is_exact = true;
    }
    return note_scalar();
  }
  bool string(std::string& value) override {
    if (is_in_file()) take_text(value);
    return note_scalar();
  }
  bool key(std::string& name) override {
    key_ = std::move(name);
    return true;
  }
  bool start_object(std::size_t) override {
    ++depth_;
    if (is_in_file()) {
      file_ = {};
      file_.entry.is_exact = false;
    }
    return true;
  }
  bool end_object() override {
    if (is_in_file()) keep_file();
    --depth_;
    return taken_ && count_ <= kMaxListingEntries;
  }
  bool start_array(std::size_t) override {
    if (is_in_files_ && depth_ == kFiles) return false;
    if (depth_ == kTop && key_ == "files") is_in_files_ = has_files_ = true;
    ++depth_;
    // A manifest is one object.
    return depth_ > kTop;
  }
  bool end_array() override {
    --depth_;
    if (depth_ == kTop) is_in_files_ = false;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const Json::exception&) override {
    return false;
  }

 private:
  // The depth of a value in the object, in the array of its files, and in one of these.
  static constexpr std::size_t kTop = 1;
  static constexpr std::size_t kFiles = 2;
  static constexpr std::size_t kFile = 3;

  [[nodiscard]] bool is_in_file() const { return is_in_files_ && depth_ == kFile; }
  // Each file is an object.
  [[nodiscard]] bool note_scalar() const { return !is_in_files_ || depth_ != kFiles; }

  void take_text(std::string& value) {
    if (key_ == "path") {
      file_.path = std::move(value);
    } else if (key_ == "mtime") {
      file_.entry.mtime_ns = time_of(value);
    } else if (key_ == "etag") {
      file_.entry.etag = std::move(value);
    } else if (key_ == "head" && value.size() <= 2 * kMaxManifestHeadBytes) {
      if (auto bytes = base64_decode(value)) {
        file_.entry.head = std::make_shared<const std::vector<std::byte>>(std::move(*bytes));
      }
    }
  }
  void keep_file() {
    auto& entry = file_.entry;
    const bool has_head = entry.head != nullptr && entry.is_exact &&
                          entry.head->size() <= entry.size &&
                          entry.head->size() <= kMaxManifestHeadBytes;
    if (!has_head) entry.head = nullptr;
    if (!is_object_path(file_.path)) return;
    ++count_;
    taken_ = take_(file_);
  }

  std::size_t depth_ = 0;
  bool is_in_files_ = false;
  bool has_files_ = false;
  std::uint64_t version_ = 0;
  std::string key_;
  ManifestFile file_;
  std::size_t count_ = 0;
  const TakeManifestFile& take_;
  Status taken_;
};

}  // namespace

Status check_manifest_bytes(std::uint64_t bytes) {
  if (bytes <= kMaxManifestBytes) return {};
  return codec::fail(Errc::over_limit, kLongManifest);
}

Status parse_manifest(std::string_view json, const TakeManifestFile& take) {
  FRAMEFS_CHECK(check_manifest_bytes(json.size()));
  ManifestReader reader(take);
  const bool is_parsed = Json::sax_parse(json, &reader);
  FRAMEFS_CHECK(reader.taken());
  if (!is_parsed || !reader.is_manifest()) return codec::fail(Errc::bad_field, "manifest");
  return {};
}

Result<std::string> manifest_text(const ManifestFile& file) {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  const auto& entry = file.entry;
  Json object{{"path", file.path}};
  if (entry.is_exact) object["size"] = entry.size;
  if (entry.mtime_ns > 0) object["mtime"] = iso_time_ns(entry.mtime_ns);
  if (!entry.etag.empty()) object["etag"] = entry.etag;
  if (entry.head) object["head"] = base64_encode(*entry.head);
  auto text = object.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.find(kReplacement) != text.npos && file.path.find(kReplacement) == file.path.npos) {
    return fs::refusal(EILSEQ, "the name is not UTF-8");
  }
  return text;
}

}  // namespace framefs::net
