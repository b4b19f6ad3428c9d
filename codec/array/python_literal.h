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

// A value in Python's literal syntax, as the text of a dtype uses it: strings, non-negative
// integers, True, False, None, lists, tuples and dicts.  The text is untrusted: parsing takes
// linear time and memory, and the depth is bounded.
// Immutable; any number of threads may use it.
// Source: The Python Language Reference, "Literals", "Atoms".
class PythonLiteral {
 public:
  enum class Kind : std::uint8_t { none, boolean, number, string, list, tuple, dict };

 private:
  // Nodes are in the order of the text: the content of a container follows the container.
  struct Node {
    Kind kind = Kind::none;
    std::uint32_t count = 0;  // number of items of a container
    std::uint32_t end = 0;    // index after the last node inside
    std::uint32_t text_at = 0;
    std::uint32_t text_size = 0;
    std::uint64_t number = 0;
  };

 public:
  static constexpr std::size_t kMaxDepth = 32;
  static constexpr std::size_t kMaxTextBytes = std::size_t{1} << 20;

  // Errors: truncated, bad_field, over_limit, with offsets in `text`.
  static Result<PythonLiteral> parse(std::string_view text);

  // One of the values.  Lifetime: the literal outlives it.
  class Value {
   public:
    [[nodiscard]] Kind kind() const { return node().kind; }
    [[nodiscard]] bool is(Kind kind) const { return node().kind == kind; }
    // Kind::number, and 0 or 1 for Kind::boolean.
    [[nodiscard]] std::uint64_t number() const { return node().number; }
    // Kind::string, as code points.  Escapes may produce lone surrogates.
    [[nodiscard]] std::u32string_view string() const;
    // Kind::list and Kind::tuple: the items.  Kind::dict: keys and values in turn.
    [[nodiscard]] std::size_t size() const { return node().count; }
    [[nodiscard]] std::vector<Value> items() const;
    // Kind::dict: the value of an ASCII key; of equal keys, the last one.
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
  std::u32string text_;  // the code points of all strings
};

// A string as Python's ascii() writes it, including the quotes; a tuple of numbers.
std::string python_ascii(std::u32string_view text);
std::string python_tuple(std::span<const std::uint64_t> numbers);

}  // namespace framefs::codec
