#include "fs/net/credentials/secret.h"

#include <string.h>
#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace framefs::net {
namespace {

constexpr std::size_t kPageBytes = 64u << 10;  // the largest page of the architectures of Linux

std::size_t whole_pages(std::size_t bytes) {
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

}  // namespace

// A secret has pages of its own, because the kernel leaves only whole pages out of core dumps.
class Secret::Page {
 public:
  explicit Page(std::string_view text) : size_(text.size()), bytes_(allocate(size_)) {
    ::madvise(bytes_, whole_pages(size_), MADV_DONTDUMP);
    std::ranges::copy(text, bytes_);
  }
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;
  ~Page() {
    wipe(bytes_, size_);
    ::madvise(bytes_, whole_pages(size_), MADV_DODUMP);
    ::operator delete(bytes_, std::align_val_t(kPageBytes));
  }
  [[nodiscard]] std::string_view text() const { return {bytes_, size_}; }

 private:
  static char* allocate(std::size_t size) {
    return static_cast<char*>(::operator new(whole_pages(size), std::align_val_t(kPageBytes)));
  }

  const std::size_t size_;
  char* const bytes_;
};

Secret::Secret(std::string_view text) {
  if (!text.empty()) page_ = std::make_shared<const Page>(text);
}

std::string_view Secret::reveal() const { return page_ ? page_->text() : std::string_view{}; }

void wipe(char* bytes, std::size_t size) noexcept { ::explicit_bzero(bytes, size); }

}  // namespace framefs::net
