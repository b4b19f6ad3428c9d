#include "fs/write/commit/vlmeta_change.h"

#include <cerrno>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/bytes.h"
#include "tests/support/catch.h"

namespace framefs::fs::vlmeta_change_test {
namespace {

using Layers = std::vector<codec::NamedContent>;

test::Bytes content(int value) { return {static_cast<std::byte>(value)}; }

std::vector<std::string> names_of(const Layers& layers) {
  std::vector<std::string> names;
  for (const auto& layer : layers) names.push_back(layer.name);
  return names;
}

int error_of(const Result<Layers>& changed) { return changed ? 0 : changed.error().sys; }

}  // namespace

TEST_CASE("vlmeta_change: one layer is added, replaced or removed, and the others stay",
          "[fs][vlmeta_change][unit]") {
  auto layers = change_vlmeta({}, "a", content(1), ExistingVlmeta::any);
  REQUIRE(layers);
  layers = change_vlmeta(std::move(*layers), "b", content(2), ExistingVlmeta::must_not);
  REQUIRE(layers);
  layers = change_vlmeta(std::move(*layers), "c", content(3), ExistingVlmeta::any);
  REQUIRE(layers);
  CHECK(names_of(*layers) == std::vector<std::string>{"a", "b", "c"});
  layers = change_vlmeta(std::move(*layers), "b", content(4), ExistingVlmeta::must);
  REQUIRE(layers);
  CHECK(names_of(*layers) == std::vector<std::string>{"a", "b", "c"});
  CHECK((*layers)[1].content == content(4));
  layers = change_vlmeta(std::move(*layers), "a", std::nullopt, ExistingVlmeta::must);
  REQUIRE(layers);
  CHECK(names_of(*layers) == std::vector<std::string>{"b", "c"});
  CHECK((*layers)[1].content == content(3));
}

TEST_CASE("vlmeta_change: a layer must be there, or must not, if the caller says so",
          "[fs][vlmeta_change][unit]") {
  const Layers layers{{"a", content(1)}};
  CHECK(error_of(change_vlmeta(layers, "a", content(2), ExistingVlmeta::must_not)) == EEXIST);
  CHECK(error_of(change_vlmeta(layers, "b", content(2), ExistingVlmeta::must)) == ENODATA);
  CHECK(error_of(change_vlmeta(layers, "b", std::nullopt, ExistingVlmeta::any)) == ENODATA);
  CHECK(error_of(change_vlmeta(layers, "a", content(2), ExistingVlmeta::any)) == 0);
}

TEST_CASE("vlmeta_change: no frame gets more layers than other writers accept",
          "[fs][vlmeta_change][unit]") {
  Layers layers;
  for (int i = 0; i < 16; ++i) {
    auto more = change_vlmeta(layers, "layer" + std::to_string(i), content(i), ExistingVlmeta::any);
    REQUIRE(more);
    layers = std::move(*more);
  }
  CHECK(error_of(change_vlmeta(layers, "more", content(1), ExistingVlmeta::any)) == ENOSPC);
  CHECK(error_of(change_vlmeta(layers, "layer3", content(1), ExistingVlmeta::any)) == 0);
  CHECK(error_of(change_vlmeta(layers, "layer3", std::nullopt, ExistingVlmeta::any)) == 0);
}

}  // namespace framefs::fs::vlmeta_change_test
