#include "src/cli/new_file_rule.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "codec/chunk/codec_names.h"
#include "codec/core/limits.h"
#include "src/cli/command_syntax.h"
#include "src/cli/size_text.h"

namespace framefs {
namespace {

template <class Words, class Target>
bool set_word(const Words& words, std::string_view text, Target& to) {
  for (const auto& [word, value] : words) {
    if (word != text) continue;
    to = value;
    return true;
  }
  return false;
}

std::optional<std::uint32_t> size_in(std::string_view text, std::uint32_t least,
                                     std::uint32_t most) {
  const auto size = parse_size(text);
  if (!size || *size < least || *size > most) return std::nullopt;
  return static_cast<std::uint32_t>(*size);
}

std::optional<bool> yes_or_no(std::string_view text) {
  if (text == "yes") return true;
  if (text == "no") return false;
  return std::nullopt;
}

template <class Words>
std::string list_of(const Words& words) {
  std::string list;
  for (const auto& [word, value] : words) list += (list.empty() ? "" : "|") + std::string(word);
  return list;
}

bool set_level(std::string_view text, std::optional<int>& level) {
  if (text.size() != 1 || text.front() < '0' || text.front() > '9') return false;
  level = text.front() - '0';
  return true;
}

constexpr std::uint32_t kLargestTypesize = 1u << 20;

// The keys of a rule, and what each accepts.
std::vector<std::pair<std::string_view, std::string>> rule_keys() {
  const auto up_to = [](std::uint32_t most) { return fmt::format("1 to {} bytes", most); };
  return {{"codec", list_of(codec::kCodecWords)},
          {"clevel", "0 to 9"},
          {"filter", list_of(codec::kFilterWords)},
          {"typesize", up_to(kLargestTypesize)},
          {"chunksize", up_to(codec::kMaxChunkBytes)},
          {"blocksize", up_to(codec::kMaxBlockBytes)},
          {"checksums", "yes|no"},
          {"arrays", "yes|no"},
          {"as-is", "yes|no"}};
}

// Says what is wrong with one word of a rule.
std::string wrong_word(std::string_view word, std::string_view key) {
  std::vector<std::string> names;
  for (const auto& [name, values] : rule_keys()) {
    if (name == key) return fmt::format("{}: the value of {} is {}", word, name, values);
    names.emplace_back(name);
  }
  return fmt::format("\"{}\" is not a key of a rule: {}{}", key, fmt::join(names, ", "),
                     suggestion(key, names));
}

// Returns false if the key is unknown or if the value is not valid for it.
bool set_key(ParsedRule& rule, std::string_view key, std::string_view value) {
  auto& frame = rule.frame;
  if (key == "codec") return set_word(codec::kCodecWords, value, frame.codec);
  if (key == "clevel") return set_level(value, frame.clevel);
  if (key == "filter") return set_word(codec::kFilterWords, value, frame.filter);
  if (key == "checksums" || key == "arrays" || key == "as-is") {
    const auto wanted = yes_or_no(value);
    auto& flag = key == "arrays" ? frame.arrays : key == "as-is" ? rule.as_is : frame.checksums;
    flag = wanted.value_or(false);
    return wanted.has_value();
  }
  if (key == "typesize") {
    frame.typesize = size_in(value, 1, kLargestTypesize);
    return frame.typesize.has_value();
  }
  if (key != "chunksize" && key != "blocksize") return false;
  const bool is_chunk = key == "chunksize";
  const auto size = size_in(value, 1, is_chunk ? codec::kMaxChunkBytes : codec::kMaxBlockBytes);
  if (size) (is_chunk ? frame.chunksize : frame.blocksize) = *size;
  return size.has_value();
}

}  // namespace

std::expected<ParsedRule, std::string> parse_new_file_rule(std::string_view text,
                                                           const fs::NewFrameOptions& defaults) {
  // A glob may contain colons, values may not.
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == text.size()) {
    return std::unexpected(fmt::format("\"{}\" is not a rule such as *.log:codec=lz4", text));
  }
  ParsedRule rule{{.glob = std::string(text.substr(0, colon)), .frame = defaults}};
  auto rest = text.substr(colon + 1);
  while (!rest.empty()) {
    const auto word = rest.substr(0, rest.find_first_of(",;"));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    const auto equals = word.find('=');
    const auto value = equals == std::string_view::npos ? "" : word.substr(equals + 1);
    if (!set_key(rule, word.substr(0, equals), value)) {
      return std::unexpected(wrong_word(word, word.substr(0, equals)));
    }
  }
  if (rule.frame.typesize.value_or(1) > rule.frame.chunksize) {
    return std::unexpected(fmt::format("a chunk of {} bytes holds no item of {}",
                                       rule.frame.chunksize, *rule.frame.typesize));
  }
  return rule;
}

}  // namespace framefs
