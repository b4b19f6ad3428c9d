#include "fs/view/window_view.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "fs/core/files/file.h"

namespace framefs::fs {

Result<ReadResult> WindowView::read(std::uint64_t offset, std::uint64_t size, Access) const {
  if (!source_) return std::unexpected(source_.error());
  FRAMEFS_TRY(const auto all, (*source_)->size());
  ReadResult result;
  if (offset >= all) return result;
  auto bytes = std::make_shared<Bytes>(buffers_, std::min(size, all - offset));
  FRAMEFS_CHECK((*source_)->read_at(offset, bytes->writable()));
  result.spans.push_back(bytes->view());
  result.owners.push_back(std::move(bytes));
  return result;
}

Result<std::uint64_t> WindowView::seek(Seek what, std::uint64_t offset) const {
  if (!source_) return std::unexpected(source_.error());
  FRAMEFS_TRY(const auto all, (*source_)->size());
  if (offset >= all) return system_error_of(ENXIO, "seek");
  return what == Seek::data ? offset : all;
}

}  // namespace framefs::fs
