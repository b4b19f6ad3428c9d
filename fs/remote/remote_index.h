#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/core/limits.h"
#include "fs/net/store/manifest.h"
#include "fs/remote/remote_store.h"

namespace framefs::fs {

// Writes the manifest of a remote SOURCE (fs/net/store/manifest.h): lists all its folders, and
// reads the beginning of each frame, as a mount does.
// Threads: one.
class RemoteIndex {
 public:
  // Takes the next part of the text.  An error ends the index.
  using Put = std::function<Status(std::string_view text)>;
  // Told about each file whose head or whose entry is missing from the manifest.
  using Report = std::function<void(const std::string& path, const Error& error)>;

  // Lifetime: the store outlives it.
  RemoteIndex(RemoteStore& store, const codec::Limits& limits, Put put, Report report)
      : store_(store), limits_(limits), put_(std::move(put)), report_(std::move(report)) {}

  // Errors: those of net::ObjectStore for folders; ENOTDIR if SOURCE is one object; EFBIG if the
  // manifest or the tree exceeds a limit; those of Put.
  Status write();

 private:
  Status write_folder(const std::string& folder, const std::vector<net::RemoteEntry>& entries);
  Status read_heads(std::vector<net::ManifestFile>& files);
  // The bytes of an opened object that tell how a mount shows it.  Nothing if they are too many, or
  // if the object is not the version that the listing has.
  net::RemoteEntry with_head(const net::ManifestFile& file, const net::RemoteOpened& opened);
  Status put_file(const net::ManifestFile& file);
  Status put(std::string_view text);

  RemoteStore& store_;
  const codec::Limits limits_;
  const Put put_;
  const Report report_;
  std::uint64_t put_bytes_ = 0;
  bool is_first_ = true;
};

}  // namespace framefs::fs
