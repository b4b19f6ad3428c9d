#include "codec/container/embed_map.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "codec/container/container_path.h"

#include <msgpack.hpp>

namespace framefs::codec {
namespace {

// The limit on nested maps and arrays.  The values that are used are three deep.
constexpr std::size_t kMaxDepth = 16;

// Receives the document value by value and keeps the values that describe a node.  When a member
// function returns false, the parse ends and error() has the reason.  Allocations are bounded by
// the bytes already read.
//
//   {"embed_map": {"/key": {"offset": 0, "length": 832}, ...}, "current_offset": 832}
//    ^ depth 1     ^ depth 2 ^ depth 3
class EmbedMapVisitor : public msgpack::null_visitor {
 public:
  EmbedMapVisitor(std::uint64_t container_bytes, const ContainerLimits& limits)
      : container_bytes_(container_bytes), limits_(limits) {}

  [[nodiscard]] const Error& error() const { return error_; }
  [[nodiscard]] bool has_map() const { return has_map_; }
  EmbedMap take() {
    keep_last_of_each(map_.nodes, &EmbedNode::path);
    return std::move(map_);
  }

  bool visit_nil() { return scalar(); }
  bool visit_boolean(bool /*value*/) { return scalar(); }
  bool visit_negative_integer(std::int64_t /*value*/) { return scalar(); }
  bool visit_float32(float /*value*/) { return scalar(); }
  bool visit_float64(double /*value*/) { return scalar(); }
  bool visit_bin(const char* /*bytes*/, std::uint32_t /*size*/) { return scalar(); }
  bool visit_ext(const char* /*bytes*/, std::uint32_t /*size*/) { return scalar(); }

  bool visit_positive_integer(std::uint64_t value) {
    if (is_field()) {
      if (key_ == "offset") offset_ = value;
      if (key_ == "length") length_ = value;
    }
    return scalar();
  }

  bool visit_str(const char* bytes, std::uint32_t size) {
    const std::string_view text(size == 0 ? "" : bytes, size);
    if (in_key_) {
      // Deeper keys are not used.
      if (depth_ == 1 || depth_ == 3) key_ = text;
      if (depth_ == 2) node_key_ = text;
      return true;
    }
    if (is_field() && !text.empty()) {
      if (key_ == "urlbase") has_urlbase_ = true;
      if (key_ == "path") has_path_ = true;
    }
    return scalar();
  }

  void parse_error(std::size_t /*parsed*/, std::size_t /*at*/) {
    refuse(Errc::bad_field, "container metadata");
  }
  void insufficient_bytes(std::size_t /*parsed*/, std::size_t /*at*/) {
    refuse(Errc::truncated, "container metadata");
  }

  bool start_map(std::uint32_t /*pairs*/) {
    if (depth_ == 1 && is_embed_map()) {
      in_embed_map_ = true;
      has_map_ = true;
      map_ = {};  // if there are two, the last one counts
    }
    if (depth_ == 2 && in_embed_map_ && !in_key_) node_is_map_ = true;
    return open_container();
  }
  bool start_array(std::uint32_t /*items*/) {
    if (depth_ == 0) return refuse(Errc::bad_field, "container metadata");
    if (depth_ == 1 && is_embed_map()) return refuse(Errc::bad_field, "embed map");
    return open_container();
  }
  bool end_map() { return close_container(); }
  bool end_array() { return close_container(); }

  bool start_map_key() {
    in_key_ = true;
    if (depth_ == 1 || depth_ == 3) key_.reset();
    if (depth_ == 2) start_node();
    return true;
  }
  bool end_map_key() {
    in_key_ = false;
    return true;
  }
  bool end_map_value() { return depth_ == 2 && in_embed_map_ ? add_node() : true; }

 private:
  bool refuse(Errc kind, const char* field) {
    error_ = Error{.kind = kind, .field = field};
    return false;
  }

  // Whether the next value is the map of nodes.
  [[nodiscard]] bool is_embed_map() const { return !in_key_ && key_ == "embed_map"; }
  // Whether the next value is a field of a node.
  [[nodiscard]] bool is_field() const {
    return depth_ == 3 && in_embed_map_ && node_is_map_ && !in_key_;
  }

  bool scalar() {
    if (depth_ == 0) return refuse(Errc::bad_field, "container metadata");
    if (depth_ == 1 && is_embed_map()) return refuse(Errc::bad_field, "embed map");
    return true;
  }

  bool open_container() {
    if (in_key_) return refuse(Errc::bad_field, "container metadata key");  // not from Python
    if (depth_ == kMaxDepth) return refuse(Errc::over_limit, "container metadata nesting");
    ++depth_;
    return true;
  }
  bool close_container() {
    --depth_;
    if (depth_ == 1) in_embed_map_ = false;
    return true;
  }

  void start_node() {
    node_key_.reset();
    node_is_map_ = false;
    offset_.reset();
    length_.reset();
    has_urlbase_ = false;
    has_path_ = false;
  }

  bool add_node() {
    if (!node_key_ || !node_key_->starts_with('/') || !is_container_path(node_key_->substr(1))) {
      ++map_.refused_names;
      return true;
    }
    if (map_.nodes.size() == limits_.members) return refuse(Errc::over_limit, "embed map");
    EmbedNode node{.path = std::string(node_key_->substr(1)), .form = {}, .frame = {}};
    const bool has_place = offset_ && length_;
    if (has_urlbase_ || (has_path_ && !has_place)) {
      node.form = EmbedForm::remote;
    } else if (has_place && *offset_ <= container_bytes_ &&
               *length_ <= container_bytes_ - *offset_) {
      node.form = EmbedForm::embedded;
      node.frame = {*offset_, *length_};
    } else {
      node.form = EmbedForm::damaged;
    }
    map_.nodes.push_back(std::move(node));
    return true;
  }

  const std::uint64_t container_bytes_;
  const ContainerLimits limits_;
  EmbedMap map_;
  Error error_;
  bool has_map_ = false;

  // The position in the document.  The string views point into the document.
  std::size_t depth_ = 0;  // number of open maps and arrays
  bool in_key_ = false;
  bool in_embed_map_ = false;
  bool node_is_map_ = false;
  std::optional<std::string_view> key_;       // the last key at depth 1 or 3
  std::optional<std::string_view> node_key_;  // the last key at depth 2
  std::optional<std::uint64_t> offset_;
  std::optional<std::uint64_t> length_;
  bool has_urlbase_ = false;
  bool has_path_ = false;
};

}  // namespace

Result<EmbedMap> parse_embed_map(std::span<const std::byte> metadata, std::uint64_t container_bytes,
                                 const ContainerLimits& limits) {
  EmbedMapVisitor visitor(container_bytes, limits);
  // char may alias any object.
  const auto* const bytes = reinterpret_cast<const char*>(metadata.data());
  std::size_t end = 0;
  if (!msgpack::parse(bytes, metadata.size(), end, visitor)) {
    auto error = visitor.error();
    error.at = end;
    return std::unexpected(error);
  }
  if (end != metadata.size()) return fail(Errc::bad_field, "container metadata", end);
  if (!visitor.has_map()) return fail(Errc::bad_field, "embed map", end);
  return visitor.take();
}

}  // namespace framefs::codec
