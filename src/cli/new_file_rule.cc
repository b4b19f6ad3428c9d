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
#include "src/cli/frame_options.h"
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

std::optional<int> level_in(std::string_view text) {
  if (text.size() != 1 || text.front() < '0' || text.front() > '9') return std::nullopt;
  return text.front() - '0';
}

// The keys of a rule, and what each accepts.
std::vector<std::pair<std::string_view, std::string>> rule_keys() {
  const auto up_to = [](std::uint32_t most) { return fmt::format("1 to {} bytes", most); };
  return {{"codec", list_of(codec::kCodecWords)},
          {"level", "0 to 9"},
          {"filter", list_of(codec::kFilterWords)},
          {"typesize", up_to(FrameOptions::kLargestTypesize)},
          {"chunk-size", up_to(codec::kMaxChunkBytes)},
          {"block-size", up_to(codec::kMaxBlockBytes)},
          {"checksums", "yes|no"},
          {"arrays", "yes|no"},
          {"as-is", "yes|no"}};
}

// The name of a key, for which rules may also have the word that the Blosc2 library uses.
std::string_view name_of(std::string_view key) {
  constexpr std::pair<std::string_view, std::string_view> kOtherNames[] = {
      {"clevel", "level"}, {"chunksize", "chunk-size"}, {"blocksize", "block-size"}};
  for (const auto& [other, name] : kOtherNames) {
    if (key == other) return name;
  }
  return key;
}

// Says what is wrong with one word of a rule.
std::string wrong_word(std::string_view word, std::string_view key) {
  std::vector<std::string> names;
  for (const auto& [name, values] : rule_keys()) {
    if (name == name_of(key)) return fmt::format("{}: the value of {} is {}", word, key, values);
    names.emplace_back(name);
  }
  return fmt::format("\"{}\" is not a key of a rule: {}{}", key, fmt::join(names, ", "),
                     suggestion(key, names));
}

// The values of one rule.
struct RuleValues {
  FrameOptions frame;
  std::optional<bool> arrays;
  std::optional<bool> as_is;

  // Returns false if the key is unknown or if the value is not valid for it.
  bool set(std::string_view key, std::string_view value);
};

template <class Value>
bool set_value(std::optional<Value> value, std::optional<Value>& to) {
  if (value) to = value;
  return value.has_value();
}

bool RuleValues::set(std::string_view key, std::string_view value) {
  if (key == "codec") return set_word(codec::kCodecWords, value, frame.codec);
  if (key == "level") return set_value(level_in(value), frame.level);
  if (key == "filter") return set_word(codec::kFilterWords, value, frame.filter);
  if (key == "checksums") return set_value(yes_or_no(value), frame.checksums);
  if (key == "arrays") return set_value(yes_or_no(value), arrays);
  if (key == "as-is") return set_value(yes_or_no(value), as_is);
  if (key == "typesize") {
    return set_value(size_in(value, 1, FrameOptions::kLargestTypesize), frame.typesize);
  }
  if (key == "chunk-size") {
    return set_value(size_in(value, 1, codec::kMaxChunkBytes), frame.chunk_size);
  }
  if (key == "block-size") {
    return set_value(size_in(value, 1, codec::kMaxBlockBytes), frame.block_size);
  }
  return false;
}

}  // namespace

std::expected<ParsedRule, std::string> parse_new_file_rule(std::string_view text,
                                                           const fs::NewFrameOptions& defaults) {
  // A glob may contain colons, values may not.
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == text.size()) {
    return std::unexpected(fmt::format("\"{}\" is not a rule such as *.log:codec=lz4", text));
  }
  RuleValues values;
  auto rest = text.substr(colon + 1);
  while (!rest.empty()) {
    const auto word = rest.substr(0, rest.find_first_of(",;"));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    const auto equals = word.find('=');
    const auto value = equals == std::string_view::npos ? "" : word.substr(equals + 1);
    const auto key = word.substr(0, equals);
    if (!values.set(name_of(key), value)) return std::unexpected(wrong_word(word, key));
  }
  ParsedRule rule{{.glob = std::string(text.substr(0, colon)), .frame = defaults}};
  values.frame.apply_to(rule.frame);
  rule.frame.arrays = values.arrays.value_or(defaults.arrays);
  rule.as_is = values.as_is.value_or(false);
  if (auto why = items_without_room(rule.frame.typesize, rule.frame.chunksize)) {
    return std::unexpected(std::move(*why));
  }
  return rule;
}

}  // namespace framefs
