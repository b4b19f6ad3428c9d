#include "codec/compressor/ndlz.h"

#include <algorithm>
#include <array>
#include <utility>

#include "codec/core/byte_reader.h"
#include "codec/core/checked.h"

namespace framefs::codec {
namespace {

constexpr std::size_t kMaxSide = 8;

// Tokens, each of which begins a cell.  Source: ndlz4x4.c, ndlz8x8.c.
constexpr std::uint8_t kLiteral = 0x00;
constexpr std::uint8_t kFill = 0x40;
constexpr std::uint8_t kCopy = 0xC0;

// The rows that one reference provides, in the order of its bytes.
struct Rows {
  std::array<std::uint8_t, 3> row{};
  std::size_t count = 0;

  [[nodiscard]] bool has(std::size_t which) const {
    const auto rows = std::span(row).first(count);
    return std::ranges::find(rows, which) != rows.end();
  }
};

// The rows of a 4 by 4 cell according to its token: those of the first reference, and whether a
// second reference has the others.  Otherwise the others are literal.
struct RowToken {
  Rows rows;
  bool two_references = false;
};

Result<RowToken> row_token4(std::uint8_t token, std::uint64_t at) {
  constexpr std::array<Rows, 4> kTriples = {Rows{{1, 2, 3}, 3}, Rows{{0, 1, 2}, 3},
                                            Rows{{0, 1, 3}, 3}, Rows{{0, 2, 3}, 3}};
  if (token >= 224) return RowToken{kTriples[(token >> 3) - 28U]};
  if (token == 128) return RowToken{{{2, 3}, 2}};
  if (token > 128 && token < 192) {
    // No writer uses the same row twice.  If a stream does, the second use counts.
    const auto first = static_cast<std::uint8_t>((token >> 5) & 1);
    const auto second = static_cast<std::uint8_t>((token >> 3) & 3);
    return RowToken{{{first, second}, 2}};
  }
  if (token >= 40 && token < 64) {
    return RowToken{{{0, static_cast<std::uint8_t>((token >> 3) & 3)}, 2}, true};
  }
  return fail_value(Errc::bad_field, "ndlz token", at, token);
}

Result<RowToken> row_token8(std::uint8_t token, std::uint64_t at) {
  const auto first = static_cast<std::uint8_t>(token & 7);
  const auto second = static_cast<std::uint8_t>(first + 1);
  const auto third = static_cast<std::uint8_t>(first + 2);
  if ((token >> 3) == 21 && third < 8) return RowToken{{{first, second, third}, 3}};
  if ((token >> 3) == 17 && second < 8) return RowToken{{{first, second}, 2}};
  return fail_value(Errc::bad_field, "ndlz token", at, token);
}

class CellDecoder {
 public:
  CellDecoder(std::size_t side, std::span<const std::byte> stream) : side_(side), stream_(stream) {}

  // Reads the head of the stream: the sides of the plane.  Errors: bad_field if their product is
  // not `out_bytes`.
  Status read_sides(std::size_t out_bytes) {
    FRAMEFS_TRY(const auto ndim, in_.u8("ndlz head"));
    if (ndim != 2) return fail_value(Errc::bad_field, "ndim of ndlz", 0, ndim);
    for (auto& side : sides_) {
      const auto at = in_.position();
      FRAMEFS_TRY(const auto stored, in_.le<std::int32_t>("ndlz head"));
      if (stored < 0) return fail_value(Errc::bad_field, "ndlz block shape", at, stored);
      side = static_cast<std::size_t>(stored);
    }
    if (checked_mul(sides_[0], sides_[1]) != out_bytes) {
      return fail_value(Errc::bad_field, "ndlz decoded size", 1,
                        static_cast<std::int64_t>(out_bytes));
    }
    return {};
  }

  // Decodes all cells, in row-major order.
  Status decode(std::span<std::byte> out) {
    const auto [rows, columns] = sides_;
    for (std::size_t row = 0; row < rows; row += side_) {
      const std::size_t cell_rows = std::min(side_, rows - row);
      for (std::size_t column = 0; column < columns; column += side_) {
        const std::size_t cell_columns = std::min(side_, columns - column);
        FRAMEFS_TRY(const auto cell, next_cell(cell_rows * cell_columns));
        for (std::size_t i = 0; i < cell_rows; ++i) {
          std::copy_n(cell.data() + i * cell_columns, cell_columns,
                      out.data() + (row + i) * columns + column);
        }
      }
    }
    return {};
  }

 private:
  // Returns the bytes of the next cell.  A cell at the plane's far edges may have only `bytes` of
  // them.
  Result<std::span<const std::byte>> next_cell(std::size_t bytes) {
    const auto at = in_.position();
    FRAMEFS_TRY(const auto token, in_.u8("ndlz token"));
    if (token == kLiteral) return in_.take(bytes, "ndlz literal");
    if (token == kCopy) return reference(at, bytes);
    if (token == kFill) {
      FRAMEFS_TRY(const auto value, in_.take(1, "ndlz fill"));
      std::ranges::fill(cell_, value[0]);
      return std::span<const std::byte>(cell_);
    }
    FRAMEFS_TRY(const auto said, side_ == 4 ? row_token4(token, at) : row_token8(token, at));
    FRAMEFS_CHECK(assemble(at, said));
    return std::span<const std::byte>(cell_);
  }

  // Reads an offset and returns the bytes that are this far before the token in the stream.  The
  // reference library's decoder, unlike its encoder, computes some offsets modulo 2^16: see
  // codec/ERRATA.md, "NDLZ".
  Result<std::span<const std::byte>> reference(std::uint64_t token_at, std::size_t bytes) {
    const auto at = in_.position();
    FRAMEFS_TRY(const auto offset, in_.le<std::uint16_t>("ndlz reference"));
    if (offset > token_at || bytes > stream_.size() - (token_at - offset)) {
      return fail_value(Errc::bad_field, "ndlz reference", at, offset);
    }
    return stream_.subspan(token_at - offset, bytes);
  }

  void put_row(std::size_t row, std::span<const std::byte> bytes) {
    std::copy_n(bytes.data(), side_, cell_.data() + row * side_);
  }

  // Builds a cell from rows elsewhere in the stream, and from the rows that the first reference
  // lacks.
  Status assemble(std::uint64_t token_at, const RowToken& said) {
    FRAMEFS_TRY(auto given, reference(token_at, said.rows.count * side_));
    for (std::size_t i = 0; i < said.rows.count; ++i) {
      put_row(said.rows.row[i], given.subspan(i * side_, side_));
    }
    std::span<const std::byte> others;
    if (said.two_references) {
      FRAMEFS_TRY(others, reference(token_at, (side_ - said.rows.count) * side_));
    }
    for (std::size_t row = 0; row < side_; ++row) {
      if (said.rows.has(row)) continue;
      if (!said.two_references) {
        FRAMEFS_TRY(others, in_.take(side_, "ndlz literal"));
      }
      put_row(row, others.first(side_));
      others = others.subspan(side_);
    }
    return {};
  }

  const std::size_t side_;
  const std::span<const std::byte> stream_;  // valid during one call of decode_ndlz()
  ByteReader in_{stream_};
  std::array<std::size_t, 2> sides_{};  // of the plane: rows, columns
  std::array<std::byte, kMaxSide * kMaxSide> cell_{};
};

}  // namespace

Status decode_ndlz(std::uint8_t cell_side, std::span<const std::byte> in,
                   std::span<std::byte> out) {
  if (!is_ndlz_cell_side(cell_side)) {
    return fail_value(Errc::bad_field, "cell side of ndlz", 0, cell_side);
  }
  CellDecoder decoder(cell_side, in);
  FRAMEFS_CHECK(decoder.read_sides(out.size()));
  return decoder.decode(out);
}

}  // namespace framefs::codec
