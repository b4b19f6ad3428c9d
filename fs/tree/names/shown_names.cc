#include "fs/tree/names/shown_names.h"

#include <optional>
#include <utility>

#include "fs/source/suffixes.h"

namespace framefs::fs {
namespace {

bool is_file_suffix(const Suffix& suffix) {
  return suffix.content == Expected::frame || suffix.content == Expected::array;
}

std::optional<std::string_view> stripped_name(std::string_view name) {
  for (const auto& suffix : kSuffixes) {
    if (!is_file_suffix(suffix)) continue;
    if (const auto stem = stem_of(name, suffix.text)) return stem;
  }
  return std::nullopt;
}

std::string npy_name(std::string_view array) { return std::string(array).append(kNpySuffix); }

bool shows_npy(const FrameSummary& file, ArrayViews arrays) {
  return file.is_numpy && arrays != ArrayViews::raw;
}

// A frame that should hold an array and does not is still shown as an array: its reads report why.
bool shows_array(const FrameSummary& file, ArrayViews arrays) {
  return !file.is_numpy || arrays != ArrayViews::npy;
}

}  // namespace

std::vector<ShownName> wanted_names(std::string_view name, const FrameSummary& file,
                                    ArrayViews arrays) {
  const auto stem = stripped_name(name);
  if (!stem) return {};
  std::vector<ShownName> names;
  if (file.content == Content::frame) names.push_back({std::string(*stem), ShownAs::frame});
  if (file.content != Content::array) return names;
  if (shows_array(file, arrays)) names.push_back({std::string(*stem), ShownAs::array});
  if (shows_npy(file, arrays)) names.push_back({npy_name(*stem), ShownAs::npy});
  return names;
}

std::vector<ShownName> full_names(std::string_view name, const FrameSummary& file,
                                  ArrayViews arrays) {
  std::string full(name);
  switch (file.content) {
    case Content::other:
      return {{std::move(full), ShownAs::itself}};
    case Content::frame:
      return {{std::move(full), ShownAs::frame}};
    case Content::embed_container:
    case Content::zip_container:
      return {{std::move(full), ShownAs::container}};
    case Content::array:
      break;
  }
  if (!shows_array(file, arrays)) return {{std::move(full), ShownAs::npy}};
  std::vector<ShownName> names{{full, ShownAs::array}};
  if (shows_npy(file, arrays)) names.push_back({npy_name(full), ShownAs::npy});
  return names;
}

std::vector<ShownName> second_names(std::string_view name, const FrameSummary& file,
                                    ArrayViews arrays) {
  if (file.content != Content::array) return {};
  auto names = full_names(name, file, arrays);
  std::erase_if(names, [name](const ShownName& shown) { return shown.name == name; });
  return names;
}

void for_each_other_name(std::string_view name, const std::function<void(std::string_view)>& body) {
  const auto stem = stripped_name(name);
  if (!stem) return;
  body(*stem);
  if (expected_content(name) != Expected::array) return;
  body(npy_name(*stem));
  body(npy_name(name));
}

bool can_be_shown(const FrameSummary& file, ShownAs shown_as) {
  switch (shown_as) {
    case ShownAs::itself:
      return file.content == Content::other;
    case ShownAs::frame:
      return file.content == Content::frame;
    case ShownAs::array:
      return file.content == Content::array;
    case ShownAs::npy:
      return file.content == Content::array && file.is_numpy;
    case ShownAs::container:
      return file.content == Content::embed_container || file.content == Content::zip_container;
    case ShownAs::single_entry:
      return true;
  }
  return false;
}

std::vector<std::string> source_names(const ShownName& asked, std::string_view now) {
  std::vector<std::string> names;
  const auto add = [&](std::string_view stem, Expected content) {
    const auto with = [&](const Suffix& suffix) { return std::string(stem).append(suffix.text); };
    for (const bool like_now : {true, false}) {
      for (const auto& suffix : kSuffixes) {
        const bool is_like = stem_of(now, suffix.text).has_value();
        if (suffix.content == content && is_like == like_now) names.push_back(with(suffix));
      }
    }
  };
  const auto npy_stem = stem_of(asked.name, kNpySuffix);
  if (asked.shown_as == ShownAs::frame) {
    add(asked.name, Expected::frame);
    // Such a name promises an array; an entry that already has it without an array keeps it.
    if (stem_of(now, ".b2nd")) add(asked.name, Expected::array);
  }
  if (asked.shown_as == ShownAs::array) add(asked.name, Expected::array);
  if (asked.shown_as == ShownAs::npy && npy_stem) {
    add(*npy_stem, Expected::array);
    names.emplace_back(*npy_stem);  // the second name of an array that is shown under its own name
  }
  names.push_back(asked.name);
  return names;
}

std::vector<std::string> possible_sources(std::string_view shown) {
  std::vector<std::string> sources;
  const auto add = [&](std::string_view stem, Expected content) {
    for (const auto& suffix : kSuffixes) {
      if (suffix.content == content) sources.push_back(std::string(stem).append(suffix.text));
    }
  };
  add(shown, Expected::frame);
  add(shown, Expected::array);
  if (const auto stem = stem_of(shown, kNpySuffix)) add(*stem, Expected::array);
  return sources;
}

}  // namespace framefs::fs
