#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codec/core/result.h"

namespace framefs::codec {

// A value in Python's literal syntax, as texts of dtypes use it: strings, whole numbers that are not
// negative, True, False, None, lists, tuples, dicts.  Read from a stranger's text in linear time, in
// memory of its order, to a bounded depth.
// Immutable; any number of threads may use it.
// Source: The Python Language Reference, "Literals", "Atoms".
class PythonLiteral {
 public:
  enum class Kind : std::uint8_t { none, boolean, number, string, list, tuple, dict };

 private:
  // In the order of the text: what a container holds follows it.
  struct Node {
    Kind kind = Kind::none;
    std::uint32_t count = 0;  // of items, for containers
    std::uint32_t end = 0;    // the node after the last one inside
    std::uint32_t text_at = 0;
    std::uint32_t text_size = 0;
    std::uint64_t number = 0;
  };

 public:
  static constexpr std::size_t kMaxDepth = 32;
  static constexpr std::size_t kMaxTextBytes = std::size_t{1} << 20;

  // Errors: truncated, bad_field, over_limit, with offsets in `text`.
  static Result<PythonLiteral> parse(std::string_view text);

  // One of the values; valid as long as the literal is.
  class Value {
   public:
    [[nodiscard]] Kind kind() const { return node().kind; }
    [[nodiscard]] bool is(Kind kind) const { return node().kind == kind; }
    // Kind::number, and 0 or 1 for Kind::boolean.
    [[nodiscard]] std::uint64_t number() const { return node().number; }
    // Kind::string, as code points; escapes may have made lone surrogates of them.
    [[nodiscard]] std::u32string_view string() const;
    // Kind::list and Kind::tuple: the items; Kind::dict: each key and the value that follows it.
    [[nodiscard]] std::size_t size() const { return node().count; }
    [[nodiscard]] std::vector<Value> items() const;
    // Kind::dict: the value of a key that is a string of ASCII; the last of several.
    [[nodiscard]] std::optional<Value> find(std::string_view key) const;

   private:
    friend class PythonLiteral;
    Value(const PythonLiteral& literal, std::size_t index) : literal_(&literal), index_(index) {}
    [[nodiscard]] const Node& node() const { return literal_->nodes_[index_]; }

    const PythonLiteral* literal_;
    std::size_t index_;
  };
  [[nodiscard]] Value root() const { return {*this, 0}; }

 private:
  class Parser;
  std::vector<Node> nodes_;
  std::u32string text_;  // of all strings
};

// A string as Python's ascii() writes it, quotes and all; and a tuple of numbers.
std::string python_ascii(std::u32string_view text);
std::string python_tuple(std::span<const std::uint64_t> numbers);

}  // namespace framefs::codec
