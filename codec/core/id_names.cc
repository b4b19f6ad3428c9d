#include "codec/core/id_names.h"

#include <cstddef>
#include <span>
#include <string_view>

namespace framefs::codec {
namespace {

// Label and name share one string: the name is the part after the first word.
struct NamedId {
  std::uint8_t id;
  const char* label;
};

constexpr std::string_view kCodecWord = "codec ";
constexpr NamedId kCodecLabels[] = {
    {0, "codec blosclz"},   {1, "codec lz4"},       {2, "codec lz4hc"},      {3, "codec snappy"},
    {4, "codec zlib"},      {5, "codec zstd"},      {32, "codec ndlz"},      {33, "codec zfp_acc"},
    {34, "codec zfp_prec"}, {35, "codec zfp_rate"}, {36, "codec openhtj2k"}, {37, "codec grok"},
    {38, "codec openzl"},   {39, "codec j2k"},      {40, "codec htj2k"},
};

constexpr std::string_view kFilterWord = "filter ";
constexpr NamedId kFilterLabels[] = {
    {0, "filter nofilter"},   {1, "filter shuffle"},          {2, "filter bitshuffle"},
    {3, "filter delta"},      {4, "filter trunc_prec"},       {32, "filter ndcell"},
    {33, "filter ndmean"},    {34, "filter bytedelta_buggy"}, {35, "filter bytedelta"},
    {36, "filter int_trunc"},
};

const char* find(std::span<const NamedId> table, std::uint8_t id) {
  for (const auto& named : table) {
    if (named.id == id) return named.label;
  }
  return nullptr;
}

const char* after(std::string_view word, const char* label) {
  return label == nullptr ? nullptr : label + word.size();
}

}  // namespace

const char* codec_name(std::uint8_t id) noexcept {
  return after(kCodecWord, find(kCodecLabels, id));
}

const char* codec_label(std::uint8_t id) noexcept {
  if (const char* known = find(kCodecLabels, id); known != nullptr) return known;
  if (id < kFirstRegisteredId) return "reserved codec";
  return id < kFirstUserId ? "registered codec" : "user codec";
}

const char* filter_name(std::uint8_t id) noexcept {
  return after(kFilterWord, find(kFilterLabels, id));
}

const char* filter_label(std::uint8_t id) noexcept {
  if (const char* known = find(kFilterLabels, id); known != nullptr) return known;
  if (id < kFirstRegisteredId) return "reserved filter";
  return id < kFirstUserId ? "registered filter" : "user filter";
}

}  // namespace framefs::codec
