#include "codec/array/python_literal.h"

#include <algorithm>
#include <array>
#include <limits>

#include "codec/core/checked.h"

namespace framefs::codec {
namespace {

constexpr char32_t kLastCodePoint = 0x10FFFF;
constexpr std::string_view kHexDigits = "0123456789abcdef";

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_octal(char c) { return c >= '0' && c <= '7'; }
bool is_name_part(char c) {
  return is_digit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

std::optional<unsigned> hex_value(char c) {
  if (is_digit(c)) return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A' + 10);
  return std::nullopt;
}

// The value of a one-character escape.
std::optional<char32_t> simple_escape(char c) {
  switch (c) {
    case '\\':
    case '\'':
    case '"':
      return static_cast<char32_t>(c);
    case 'a':
      return U'\a';
    case 'b':
      return U'\b';
    case 'f':
      return U'\f';
    case 'n':
      return U'\n';
    case 'r':
      return U'\r';
    case 't':
      return U'\t';
    case 'v':
      return U'\v';
    default:
      return std::nullopt;
  }
}

// The number of hexadecimal digits after the letter of an escape; 0 for other letters.
std::size_t hex_escape_digits(char c) {
  if (c == 'x') return 2;
  if (c == 'u') return 4;
  if (c == 'U') return 8;
  return 0;
}

}  // namespace

class PythonLiteral::Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<PythonLiteral> parse() {
    if (text_.size() > kMaxTextBytes) return fail(Errc::over_limit, "literal");
    FRAMEFS_CHECK(value(0));
    skip_blanks();
    if (pos_ != text_.size()) return bad("literal");
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::unexpected<Error> bad(const char* field) const {
    return fail(pos_ < text_.size() ? Errc::bad_field : Errc::truncated, field, pos_);
  }
  [[nodiscard]] bool at(char c) const { return pos_ < text_.size() && text_[pos_] == c; }
  bool take(char c) {
    if (!at(c)) return false;
    ++pos_;
    return true;
  }
  void skip_blanks() {
    while (pos_ < text_.size() && is_blank(text_[pos_])) ++pos_;
  }

  std::size_t add(Kind kind) {
    out_.nodes_.push_back({.kind = kind, .end = node_count() + 1});
    return out_.nodes_.size() - 1;
  }
  [[nodiscard]] std::uint32_t node_count() const {
    return static_cast<std::uint32_t>(out_.nodes_.size());
  }

  Status value(std::size_t depth) {
    if (depth > kMaxDepth) return fail(Errc::over_limit, "nesting", pos_);
    skip_blanks();
    if (pos_ == text_.size()) return bad("literal");
    const char c = text_[pos_];
    if (c == '\'' || c == '"') return string();
    if (c == '[') return sequence(Kind::list, ']', depth);
    if (c == '(') return sequence(Kind::tuple, ')', depth);
    if (c == '{') return dict(depth);
    if (is_digit(c)) return number();
    return word();
  }

  Status word() {
    const auto begin = pos_;
    while (pos_ < text_.size() && is_name_part(text_[pos_])) ++pos_;
    const auto name = text_.substr(begin, pos_ - begin);
    if (name == "None") {
      add(Kind::none);
    } else if (name == "True" || name == "False") {
      out_.nodes_[add(Kind::boolean)].number = name == "True" ? 1 : 0;
    } else if ((name == "u" || name == "U") && (at('\'') || at('"'))) {
      return string();
    } else {
      pos_ = begin;
      return bad("literal");
    }
    return {};
  }

  Status number() {
    const auto begin = pos_;
    std::uint64_t sum = 0;
    for (; pos_ < text_.size() && is_digit(text_[pos_]); ++pos_) {
      const auto shifted = checked_mul(sum, std::uint64_t{10});
      const auto digit = static_cast<std::uint64_t>(text_[pos_] - '0');
      const auto next = shifted ? checked_add(*shifted, digit) : std::nullopt;
      if (!next) return fail(Errc::over_limit, "number", begin);
      sum = *next;
    }
    if (text_[begin] == '0' && pos_ - begin > 1) return fail(Errc::bad_field, "number", begin);
    take('L');  // Python 2 wrote long numbers with an L
    if (pos_ < text_.size() && (is_name_part(text_[pos_]) || at('.'))) return bad("number");
    out_.nodes_[add(Kind::number)].number = sum;
    return {};
  }

  Status sequence(Kind kind, char close, std::size_t depth) {
    ++pos_;
    const auto node = add(kind);
    std::uint32_t count = 0;
    bool comma = false;
    for (skip_blanks(); !take(close); skip_blanks()) {
      if (count > 0 && !comma) return bad("literal");
      FRAMEFS_CHECK(value(depth + 1));
      ++count;
      skip_blanks();
      comma = take(',');
    }
    if (kind == Kind::tuple && count == 1 && !comma) {
      // Parentheses without a comma: the value inside replaces the tuple.
      out_.nodes_.erase(out_.nodes_.begin() + static_cast<std::ptrdiff_t>(node));
      for (auto i = node; i < out_.nodes_.size(); ++i) --out_.nodes_[i].end;
      return {};
    }
    close_container(node, count);
    return {};
  }

  Status dict(std::size_t depth) {
    ++pos_;
    const auto node = add(Kind::dict);
    std::uint32_t count = 0;
    bool comma = false;
    for (skip_blanks(); !take('}'); skip_blanks()) {
      if (count > 0 && !comma) return bad("literal");
      FRAMEFS_CHECK(value(depth + 1));
      skip_blanks();
      if (!take(':')) return bad("literal");
      FRAMEFS_CHECK(value(depth + 1));
      count += 2;
      skip_blanks();
      comma = take(',');
    }
    close_container(node, count);
    return {};
  }

  void close_container(std::size_t node, std::uint32_t count) {
    out_.nodes_[node].count = count;
    out_.nodes_[node].end = node_count();
  }

  Status string() {
    const char quote = text_[pos_++];
    const auto node = add(Kind::string);
    const auto begin = out_.text_.size();
    while (!take(quote)) {
      if (pos_ == text_.size() || at('\n') || at('\r')) return bad("string");
      if (take('\\')) {
        FRAMEFS_CHECK(escape());
      } else {
        FRAMEFS_CHECK(utf8());
      }
    }
    out_.nodes_[node].text_at = static_cast<std::uint32_t>(begin);
    out_.nodes_[node].text_size = static_cast<std::uint32_t>(out_.text_.size() - begin);
    return {};
  }

  Status escape() {
    if (pos_ == text_.size()) return bad("escape");
    const char c = text_[pos_];
    if (is_octal(c)) {
      char32_t code = 0;
      for (int i = 0; i < 3 && pos_ < text_.size() && is_octal(text_[pos_]); ++i, ++pos_) {
        code = code * 8 + static_cast<char32_t>(text_[pos_] - '0');
      }
      out_.text_.push_back(code);
      return {};
    }
    if (c == 'N') return bad("escape");  // a character by name would need the Unicode name table
    ++pos_;
    if (c == '\n') return {};  // a line continuation
    if (const auto digits = hex_escape_digits(c); digits > 0) return hex_escape(digits);
    if (const auto simple = simple_escape(c)) {
      out_.text_.push_back(*simple);
      return {};
    }
    out_.text_.push_back(U'\\');  // as in Python, the backslash stands for itself
    --pos_;
    return utf8();
  }

  Status hex_escape(std::size_t digits) {
    char32_t code = 0;
    for (std::size_t i = 0; i < digits; ++i, ++pos_) {
      const auto value = pos_ < text_.size() ? hex_value(text_[pos_]) : std::nullopt;
      if (!value) return bad("escape");
      code = code * 16 + *value;
    }
    if (code > kLastCodePoint) return bad("escape");
    out_.text_.push_back(code);
    return {};
  }

  // Copies one UTF-8 character of the text.  Source: RFC 3629, section 4.
  Status utf8() {
    const auto lead = static_cast<unsigned char>(text_[pos_]);
    const std::size_t more = lead < 0x80   ? 0
                             : lead < 0xC2 ? 4
                             : lead < 0xE0 ? 1
                             : lead < 0xF0 ? 2
                                           : 3;
    if (more == 4 || lead > 0xF4) return bad("string");
    if (more > text_.size() - pos_ - 1) return fail(Errc::truncated, "string", pos_);
    constexpr std::array<unsigned, 4> kLeadBits = {0x7F, 0x1F, 0x0F, 0x07};
    char32_t code = lead & kLeadBits[more];
    for (std::size_t i = 1; i <= more; ++i) {
      const auto next = static_cast<unsigned char>(text_[pos_ + i]);
      if ((next & 0xC0U) != 0x80) return bad("string");
      code = (code << 6) | (next & 0x3FU);
    }
    constexpr std::array<char32_t, 4> kMin = {0, 0x80, 0x800, 0x10000};
    const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    if (code < kMin[more] || code > kLastCodePoint || surrogate) return bad("string");
    out_.text_.push_back(code);
    pos_ += more + 1;
    return {};
  }

  const std::string_view text_;
  std::size_t pos_ = 0;
  PythonLiteral out_;
};

Result<PythonLiteral> PythonLiteral::parse(std::string_view text) { return Parser(text).parse(); }

std::u32string_view PythonLiteral::Value::string() const {
  return std::u32string_view(literal_->text_).substr(node().text_at, node().text_size);
}

std::vector<PythonLiteral::Value> PythonLiteral::Value::items() const {
  std::vector<Value> out;
  out.reserve(node().count);
  for (std::size_t i = index_ + 1; i < node().end; i = literal_->nodes_[i].end) {
    out.push_back({*literal_, i});
  }
  return out;
}

std::optional<PythonLiteral::Value> PythonLiteral::Value::find(std::string_view key) const {
  constexpr char32_t kNoCharacter = 0xffffffff;
  std::optional<Value> found;
  const auto all = items();
  for (std::size_t i = 0; i + 1 < all.size(); i += 2) {
    if (all[i].is(Kind::string) && std::ranges::equal(all[i].string(), key, {}, {}, [](char c) {
          // A byte of a longer character equals no character, whether char has a sign or not.
          const auto byte = static_cast<unsigned char>(c);
          return byte < 0x80 ? char32_t{byte} : kNoCharacter;
        })) {
      found = all[i + 1];
    }
  }
  return found;
}

std::string python_ascii(std::u32string_view text) {
  const bool has_single = text.contains(U'\'');
  const char quote = has_single && !text.contains(U'"') ? '"' : '\'';
  std::string out(1, quote);
  const auto append_hex = [&](char letter, char32_t code, int digits) {
    out += '\\';
    out += letter;
    for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) {
      out += kHexDigits[(code >> shift) & 0xF];
    }
  };
  for (const char32_t code : text) {
    if (code == U'\\' || code == static_cast<char32_t>(quote)) {
      out += '\\';
      out += static_cast<char>(code);
    } else if (code == U'\n') {
      out += "\\n";
    } else if (code == U'\r') {
      out += "\\r";
    } else if (code == U'\t') {
      out += "\\t";
    } else if (code >= 0x20 && code < 0x7F) {
      out += static_cast<char>(code);
    } else if (code <= 0xFF) {
      append_hex('x', code, 2);
    } else if (code <= 0xFFFF) {
      append_hex('u', code, 4);
    } else {
      append_hex('U', code, 8);
    }
  }
  return out + quote;
}

std::string python_tuple(std::span<const std::uint64_t> numbers) {
  std::string out = "(";
  for (const auto number : numbers) {
    if (out.size() > 1) out += ' ';
    out += std::to_string(number) + ',';
  }
  if (numbers.size() > 1) out.pop_back();  // only a single item keeps its comma
  return out + ')';
}

}  // namespace framefs::codec
