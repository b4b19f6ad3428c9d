#include "tests/support/ndlz_encoder.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "tests/support/random_seed.h"

namespace framefs::test {
namespace {

constexpr std::uint8_t kLiteral = 0;
constexpr std::uint8_t kFill = 0x40;
constexpr std::uint8_t kCopy = 0xC0;
constexpr std::size_t kMaxDistance = 65535;

// One way to write a cell: the token, and the references and literal rows that follow it.
struct Way {
  std::uint8_t token = kLiteral;
  Bytes after_token;
};

class Encoder {
 public:
  Encoder(std::size_t side, std::mt19937& random, TokenCount* count)
      : side_(side), random_(random), count_(count) {}

  Bytes encode(std::span<const std::byte> plane, std::array<std::uint32_t, 2> shape) {
    const auto [rows, columns] = shape;
    out_ = {std::byte{2}};
    append_le(out_, rows);
    append_le(out_, columns);
    for (std::size_t row = 0; row < rows; row += side_) {
      for (std::size_t column = 0; column < columns; column += side_) {
        Bytes cell;
        for (std::size_t i = row; i < std::min<std::size_t>(row + side_, rows); ++i) {
          const std::size_t width = std::min<std::size_t>(side_, columns - column);
          append(cell, plane.subspan(i * columns + column, width));
        }
        put(cell);
      }
    }
    return out_;
  }

 private:
  void put(const Bytes& cell) {
    std::vector<Way> ways = {{kLiteral, cell}};
    if (std::ranges::all_of(cell, [&](std::byte b) { return b == cell.front(); })) {
      ways.push_back({kFill, {cell.front()}});
    }
    if (const auto offset = find(cell)) ways.push_back({kCopy, *offset});
    if (cell.size() == side_ * side_) add_row_ways(cell, ways);
    // Prefers other ways to a literal in most cases.
    const bool literal = ways.size() == 1 || draw(random_) % 8 == 0;
    const auto& way = ways[literal ? 0 : 1 + draw(random_) % (ways.size() - 1)];
    out_.push_back(static_cast<std::byte>(way.token));
    append(out_, way.after_token);
    if (count_ != nullptr) ++(*count_)[way.token];
  }

  void add_row_ways(const Bytes& cell, std::vector<Way>& ways) {
    if (side_ == 8) {
      for (std::uint8_t row = 0; row + 1 < 8; ++row) {
        add(cell, static_cast<std::uint8_t>(17 << 3 | row), {row, row + 1U}, ways);
        if (row + 2 < 8) {
          add(cell, static_cast<std::uint8_t>(21 << 3 | row), {row, row + 1U, row + 2U}, ways);
        }
      }
      return;
    }
    add(cell, 28 << 3, {1, 2, 3}, ways);
    add(cell, 29 << 3, {0, 1, 2}, ways);
    add(cell, 30 << 3, {0, 1, 3}, ways);
    add(cell, 31 << 3, {0, 2, 3}, ways);
    add(cell, 128, {2, 3}, ways);
    for (std::uint8_t i = 0; i < 2; ++i) {
      for (auto j = static_cast<std::uint8_t>(i + 1); j < 4; ++j) {
        add(cell, static_cast<std::uint8_t>(128 | i << 5 | j << 3), {i, j}, ways);
      }
    }
    for (std::uint8_t j = 1; j < 4; ++j) {
      Bytes others;
      for (std::size_t row = 1; row < 4; ++row) {
        if (row != j) append(others, row_of(cell, row));
      }
      const auto first = find(rows_of(cell, {0, j}));
      const auto second = find(others);
      if (!first || !second) continue;
      Bytes both = *first;
      append(both, *second);
      ways.push_back({static_cast<std::uint8_t>(32 | j << 3), both});
    }
  }

  // Adds a way that takes `rows` from a reference and writes the others as literals.
  void add(const Bytes& cell, std::uint8_t token, const std::vector<std::size_t>& rows,
           std::vector<Way>& ways) {
    auto after = find(rows_of(cell, rows));
    if (!after) return;
    for (std::size_t row = 0; row < side_; ++row) {
      if (std::ranges::find(rows, row) == rows.end()) append(*after, row_of(cell, row));
    }
    ways.push_back({token, *after});
  }

  std::span<const std::byte> row_of(const Bytes& cell, std::size_t row) const {
    return std::span(cell).subspan(row * side_, side_);
  }

  Bytes rows_of(const Bytes& cell, const std::vector<std::size_t>& rows) const {
    Bytes out;
    for (const auto row : rows) append(out, row_of(cell, row));
    return out;
  }

  // The distance from the next token back to these bytes, as two bytes; nothing if they do not
  // occur.
  std::optional<Bytes> find(const Bytes& what) const {
    const std::size_t begin = out_.size() - std::min(out_.size(), kMaxDistance);
    const auto found = std::search(out_.begin() + static_cast<std::ptrdiff_t>(begin), out_.end(),
                                   what.begin(), what.end());
    if (found == out_.end()) return std::nullopt;
    Bytes offset;
    append_le(offset, static_cast<std::uint16_t>(out_.end() - found));
    return offset;
  }

  const std::size_t side_;
  std::mt19937& random_;
  TokenCount* const count_;
  Bytes out_;
};

}  // namespace

Bytes encode_ndlz(std::span<const std::byte> plane, std::array<std::uint32_t, 2> shape,
                  std::size_t side, std::mt19937& random, TokenCount* count) {
  return Encoder(side, random, count).encode(plane, shape);
}

Bytes repetitive_plane(std::array<std::uint32_t, 2> shape, std::mt19937& random) {
  const auto [rows, columns] = shape;
  // A few different rows of eight bytes, in a few orders.
  std::vector<Bytes> patterns(6, Bytes(8));
  for (auto& pattern : patterns) {
    for (auto& b : pattern) b = static_cast<std::byte>(draw(random));
  }
  Bytes plane(std::size_t{rows} * columns);
  for (std::size_t at = 0; at < plane.size(); ++at) {
    const std::size_t row = at / columns;
    const std::size_t column = at % columns;
    if (column % 8 == 0 && draw(random) % 4 == 0) {
      std::swap(patterns[draw(random) % patterns.size()], patterns[draw(random) % patterns.size()]);
    }
    const bool flat = row / 8 % 2 == 0 && column / 8 % 5 == 0;
    plane[at] = flat ? std::byte{7} : patterns[row % patterns.size()][column % 8];
  }
  return plane;
}

}  // namespace framefs::test
