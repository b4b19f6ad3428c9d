#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <string>

#include "fs/core/file.h"
#include "fs/core/guarded.h"
#include "fs/read/read_pattern.h"
#include "fs/source/folder.h"
#include "fs/tree/node.h"
#include "fs/view/cached_frame.h"
#include "fs/write/frame_write_session.h"

namespace framefs::fs {

// What is open in SOURCE for the sake of a shown file: a file, or the directory of a sparse frame.
// Threads: any number.
class BackingFile {
 public:
  // `fd` is open for reading.  Errors: system.
  static Result<BackingFile> adopt(UniqueFd fd);

  // Of the file, or of the directory's index file as it is now: two states differ in it.
  // Errors: system.
  [[nodiscard]] Result<struct stat> content_stat() const;
  [[nodiscard]] bool is_sparse() const noexcept { return folder_ != nullptr; }
  // The file; null for a sparse frame.
  [[nodiscard]] const std::shared_ptr<const FileReader>& file() const noexcept { return file_; }
  [[nodiscard]] int fd() const noexcept { return file_ ? file_->fd() : folder_->get(); }
  // The file, or the index file as it is now.  Errors: system.
  [[nodiscard]] Result<std::shared_ptr<const FileReader>> open_content() const;

  // The frame in it, from `offset` on; as it is now.  `name` is for the log.
  // Errors: system, where the index of a sparse frame cannot be opened.
  [[nodiscard]] Result<FrameOrigin> origin(std::uint64_t offset, std::string name) const;

 private:
  BackingFile() = default;
  std::shared_ptr<const FileReader> file_;
  std::shared_ptr<const UniqueFd> folder_;  // of a sparse frame
};

// The session by which an open file writes: another one takes its place where somebody else has
// changed the frame while there was nothing to commit.
// Threads: any number.
class CurrentSession {
 public:
  using Session = std::shared_ptr<FrameWriteSession>;
  [[nodiscard]] Session get() const {
    return session_.with([](const Session& session) { return session; });
  }
  void set(Session session) {
    session_.with([&](Session& known) { known.swap(session); });
  }

 private:
  Guarded<Session> session_;
};

// A file that somebody has open.
struct OpenFile {
  OpenFile(std::shared_ptr<Node> file_node, BackingFile file, std::shared_ptr<ReadPattern> reads)
      : node(std::move(file_node)), source(std::move(file)), pattern(std::move(reads)) {}

  const std::shared_ptr<Node> node;
  const BackingFile source;
  // Of a frame that is open for writing; else null.
  CurrentSession session;
  const std::shared_ptr<ReadPattern> pattern;  // of those who have it open
};

// A directory that somebody has open.
struct OpenFolder {
  std::shared_ptr<Node> node;
  std::unique_ptr<Folder> folder;
};

}  // namespace framefs::fs
