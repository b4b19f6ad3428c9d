#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fuse_lowlevel.h>

#include "fs/core/diagnostics/error_map.h"
#include "fs/core/diagnostics/log.h"
#include "fs/core/threads/may_wait.h"
#include "fs/fuse/ops/generation.h"
#include "fs/fuse/ops/handles.h"
#include "fs/fuse/ops/immutable.h"
#include "fs/fuse/ops/kernel_readahead.h"
#include "fs/fuse/ops/looked_up.h"
#include "fs/fuse/ops/passthrough.h"
#include "fs/fuse/session/request_counters.h"
#include "fs/fuse/session/request_scope.h"
#include "fs/fuse/session/stale_pages.h"
#include "fs/tree/filesystem.h"

namespace framefs::fuse {

using codec::Result;

// The object that FUSE's `number` stands for in `table`. Errors: system, EBADF.
template <class T>
Result<std::shared_ptr<T>> find_handle(const HandleTable<T>& table, std::uint64_t number) {
  auto object = table.find(number);
  if (!object) return fs::system_error_of(EBADF, "handle");
  return object;
}

// Translates the arguments of lseek(). Errors: system: EINVAL, ENXIO.
inline Result<fs::Seek> seek_kind(off_t offset, int whence) {
  // The kernel answers all other values of whence itself.
  if (whence != SEEK_DATA && whence != SEEK_HOLE) return fs::system_error_of(EINVAL, "lseek");
  if (offset < 0) return fs::system_error_of(ENXIO, "lseek");
  return whence == SEEK_DATA ? fs::Seek::data : fs::Seek::hole;
}

// The kinds of answer that an operation can give.
struct Done {};
struct EntryAnswer {
  fs::NodeEntry entry;
};
struct AttrAnswer {
  struct stat stat;
  // Whether the kernel may take the time of modification for that of its pages.
  bool vouches_for_pages = true;
};
struct LinkAnswer {
  std::string target;
};
struct StatfsAnswer {
  struct statvfs stat;
};
struct OpenAnswer {
  fs::OpenedFile opened;
  fuse_file_info info;
};
struct CreateAnswer {
  fs::NodeEntry entry;
  OpenAnswer open;
};
struct OpendirAnswer {
  std::shared_ptr<FolderHandle> handle;
  fuse_file_info info;
};
struct BytesAnswer {  // from the cache
  fs::ReadResult bytes;
  // The file, if the kernel's page cache is to get the hot block of the read.
  std::shared_ptr<const fs::OpenFile> pushed_file = nullptr;
};
struct FileAnswer {  // from a plain file, by splice where the kernel can
  std::shared_ptr<const fs::FileReader> source;
  std::uint64_t offset;
  std::size_t size;
};
struct WrittenAnswer {
  std::size_t size;
  // The place in the kernel's pages where it cached bytes that lie elsewhere in the file.
  struct Misplaced {
    fs::NodeId node;
    std::uint64_t offset;
  };
  std::optional<Misplaced> misplaced = std::nullopt;
};
struct BufferAnswer {
  std::vector<char> bytes;
};
struct OffsetAnswer {  // of lseek()
  off_t offset;
};
struct SizeAnswer {  // the size of an extended attribute, for a caller without a buffer
  std::size_t size;
};
using Answer = std::variant<Done, EntryAnswer, AttrAnswer, LinkAnswer, StatfsAnswer, OpenAnswer,
                            CreateAnswer, OpendirAnswer, BytesAnswer, FileAnswer, WrittenAnswer,
                            BufferAnswer, OffsetAnswer, SizeAnswer>;

// The state that all operations share; FUSE passes it as user data. Lifetime: the session's.
struct Mount {
  using Answer = fuse::Answer;
  [[nodiscard]] fs::SourceTree& tree() const { return filesystem.tree(); }
  [[nodiscard]] fs::Attributes& attributes() const { return filesystem.attributes(); }
  // The statistics of the mount, as JSON.
  [[nodiscard]] std::string stats() const {
    return stats_json(counters, filesystem.activity(), options);
  }

  // Opens a file for reads without a handle.
  [[nodiscard]] Result<std::shared_ptr<fs::OpenFile>> open_file(fs::NodeId id) const {
    return filesystem.contents().open_reader(id);
  }
  // Whether a file that can be opened can also be read.
  [[nodiscard]] bool is_readable(fs::NodeId id) const {
    const auto opened = filesystem.contents().open(id, O_RDONLY);
    if (!opened) return true;
    filesystem.contents().close(*opened->file);
    return !opened->bypass_pages;
  }

  fs::Filesystem& filesystem;
  fs::Log& log;
  bool writeback;                    // as MountOptions::writeback
  double attr_timeout_s;             // how long the kernel may trust names and attributes
  fs::DescriptorShares descriptors;  // outlives the open files
  HandleTable<fs::OpenFile> files;
  HandleTable<FolderHandle> directories;
  Passthrough passthrough;
  StalePages stale_pages;
  fuse_session* session = nullptr;  // set before the first request
  fs::MountOptions options{};       // set before the first request
  bool is_sandboxed = false;        // set before the first request
  KernelReadahead readahead{};
  RequestCounters counters{};
  LookedUp looked_up{};
  OpenByNode<fs::OpenFile> by_node{};
  std::uint32_t generation = new_generation();
};

// Charges an open file for the descriptors that it may take.
inline void keep_descriptors(fs::OpenFile& file, fs::DescriptorShares::Share share) {
  constexpr std::uint64_t kOfSparseFrame = 9;  // index and chunk files
  constexpr std::uint64_t kOfWriter = 3;       // frame, lock file, a commit under way
  if (file.source.is_sparse()) share.grow(kOfSparseFrame);
  if (file.session.get()) share.grow(kOfWriter);
  file.descriptors = std::move(share);
}

// The attributes of a file as the mount shows them, with the owner and mode that the options set.
template <class MountType>
struct stat shown(const MountType& mount, struct stat attributes) noexcept {
  const auto& options = mount.options;
  attributes.st_uid = options.uid.value_or(attributes.st_uid);
  attributes.st_gid = options.gid.value_or(attributes.st_gid);
  if (!S_ISLNK(attributes.st_mode)) attributes.st_mode &= ~static_cast<mode_t>(options.mode_mask);
  return attributes;
}

// Sends one answer. If the caller is gone, takes back the handle or reference that it contained.
void send(fuse_req_t req, Mount& mount, Answer answer);

template <class MountType>
using AnswerOf = Result<typename MountType::Answer>;

// Runs `body`, (MountType&) -> Result<MountType::Answer>, and sends exactly one reply, with no lock
// held. Within an fs::NoWaitScope, a request that would have to wait is not answered. Only this
// function maps filesystem errors to errnos and catches exceptions of libraries. `MountType` is
// Mount or RemoteMount.
template <class MountType, class Body>
void answer_for(fuse_req_t req, const char* operation, Body&& body) noexcept {
  auto& mount = *static_cast<MountType*>(fuse_req_userdata(req));
  const auto begin = std::chrono::steady_clock::now();
  const auto count = [&](int result) {
    mount.counters.note(operation, std::chrono::steady_clock::now() - begin, result);
  };
  int error = EIO;
  try {
    AnswerOf<MountType> made = [&] {
      const RequestScope scope(req, mount.session, operation);
      return std::forward<Body>(body)(mount);
    }();
    if (made) {
      send(req, mount, std::move(*made));
      return count(0);
    }
    if (fs::has_refused_to_wait()) {
      fs::repeat_later();
      return fuse_reply_none(req);
    }
    error = fs::errno_of(made.error());
    if (made.error().kind == codec::Errc::internal) mount.log.failure(operation, made.error());
  } catch (const std::bad_alloc&) {
    error = ENOMEM;
  } catch (const std::exception& unexpected) {
    mount.log.warn(std::string("BUG: ") + operation + ": " + unexpected.what());
  }
  fuse_reply_err(req, error);
  count(error);
}

template <class Body>
void answer(fuse_req_t req, const char* operation, Body&& body) noexcept {
  answer_for<Mount>(req, operation, std::forward<Body>(body));
}

}  // namespace framefs::fuse
