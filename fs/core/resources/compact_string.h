#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

namespace framefs::fs {

// A constant text for objects of which there are very many: a pointer to one allocation that is as
// long as the text needs, and no allocation for an empty text.
// Threads: as std::string.
class CompactString {
 public:
  CompactString() = default;
  template <std::convertible_to<std::string_view> Text>
  CompactString(const Text& text) : CompactString(std::string_view(text), 0) {}
  CompactString(const CompactString& other) : CompactString(other.view(), 0) {}
  CompactString(CompactString&&) noexcept = default;
  CompactString& operator=(const CompactString& other) {
    if (this != &other) *this = CompactString(other);
    return *this;
  }
  CompactString& operator=(CompactString&&) noexcept = default;
  ~CompactString() = default;

  // Lifetime: the result is valid until the object is changed.
  [[nodiscard]] std::string_view view() const noexcept {
    if (!bytes_) return {};
    std::uint32_t size = 0;
    std::memcpy(&size, bytes_.get(), sizeof(size));
    return {bytes_.get() + sizeof(size), size};
  }
  [[nodiscard]] std::string str() const { return std::string(view()); }
  [[nodiscard]] bool empty() const noexcept { return !bytes_; }

  bool operator==(const CompactString& other) const noexcept { return view() == other.view(); }
  template <std::convertible_to<std::string_view> Text>
  bool operator==(const Text& other) const noexcept {
    return view() == std::string_view(other);
  }

 private:
  // A path has less than 4 GiB.
  CompactString(std::string_view text, int) {
    if (text.empty()) return;
    const auto size = static_cast<std::uint32_t>(text.size());
    bytes_ = std::make_unique_for_overwrite<char[]>(sizeof(size) + size);
    std::memcpy(bytes_.get(), &size, sizeof(size));
    std::memcpy(bytes_.get() + sizeof(size), text.data(), size);
  }

  std::unique_ptr<char[]> bytes_;  // the size, and then the text
};

}  // namespace framefs::fs
