#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "codec/chunk/encode_trial.h"
#include "codec/compressor/stream_encoder.h"
#include "codec/core/limits.h"

namespace framefs::fs {

// How the mount shows an array.
enum class ArrayViews : std::uint8_t {
  npy,   // as a NumPy file, if NumPy has its item type; otherwise its bytes
  raw,   // its bytes in C order
  both,  // both files
};

// The parameters of a new frame. Typesize and filter are chosen by trial unless they are given.
struct NewFrameOptions {
  codec::CodecId codec = codec::CodecId::zstd;
  std::optional<int> clevel;           // 0 to 9; empty: default_level() of the codec
  std::uint32_t chunksize = 1u << 20;  // bytes
  std::uint32_t blocksize = 0;         // bytes; 0: chosen by codec and level
  std::optional<std::uint32_t> typesize;
  std::optional<codec::FilterChoice> filter;
  bool checksums = false;  // the frame has checksums
  bool arrays = false;     // a .npy file becomes an array; only if arrays are shown as .npy files
};

// The level at which a mount encodes, while a program waits for its writes. With zstd, level 2
// takes a fifth to a tenth of the CPU time of level 5 and keeps 0.80 to 0.91 of its ratio
// (tests/bench/RESULTS.md, "The level of new files"). The other codecs are fast at the library's
// default level.
[[nodiscard]] constexpr int default_level(codec::CodecId codec) noexcept {
  return codec == codec::CodecId::zstd ? 2 : 5;
}

// A new file whose name matches the glob becomes a frame with these parameters.
struct NewFileRule {
  std::string glob;
  NewFrameOptions frame;
};

// How a mount stores written data.
struct WriteOptions {
  NewFrameOptions defaults;
  std::vector<NewFileRule> rules;            // the first rule that matches applies
  std::vector<std::string> plain_globs;      // new files with such names are plain files
  std::uint64_t overlay_bytes = 256u << 20;  // limit of written data in memory
  unsigned commit_interval_ms = 5000;        // maximum age of data that is only in memory
};

// How a SOURCE that is a URL is reached.
struct RemoteOptions {
  std::string endpoint;  // the URL of an S3 server other than AWS
  std::string region;
  std::string profile;  // a profile of ~/.aws/config
  bool anonymous = false;
  bool requester_pays = false;
  std::string ca_file;                                       // certificates to trust
  std::string cache_folder;                                  // empty: no disk cache
  std::uint64_t cache_disk_bytes = std::uint64_t{10} << 30;  // limit of the disk cache
  std::uint64_t memory_bytes = std::uint64_t{128} << 20;     // limit of stored bytes in memory
  // How long a listing is used; empty: as long as it took.
  std::optional<unsigned> list_timeout_ms;
  // The largest object that is fetched whole from a server without ranges; empty: 64 MiB with a
  // disk cache, and none without.
  std::optional<std::uint64_t> whole_object_bytes;
  unsigned wait_for_server_ms = 0;  // how long a mount waits for a server that does not answer
};

// The options of one mount.
struct MountOptions {
  std::filesystem::path source;
  std::filesystem::path mountpoint;
  bool onto_file = false;           // MOUNTPOINT is a regular file
  std::uint64_t source_offset = 0;  // the frame's offset in a SOURCE that is one file
  bool read_only = false;
  bool immutable = false;  // SOURCE does not change while it is mounted; `read_only` is set too
  bool locking = false;    // create the lock files of the Blosc2 library where there are none
  bool writeback = false;  // the kernel collects written data before it sends it
  WriteOptions write;
  bool verify_checksums = false;         // a chunk that does not have its checksum cannot be read
  bool keep_suffix = false;              // show frames under their full names
  std::vector<std::string> as_is_globs;  // entries with such names are shown as they are stored
  ArrayViews arrays = ArrayViews::npy;
  bool export_handles = false;             // file handles outlive the mount
  bool allow_other = false;                // allow other users; the kernel then checks modes
  bool acl = false;                        // show access control lists; the kernel checks them
  bool devices = false;                    // device nodes can be created
  bool sandbox = true;                     // give up the rights that serving does not need
  bool debug = false;                      // libfuse's trace of requests, on stderr
  std::uint64_t cache_bytes = 256u << 20;  // limit of decoded blocks, including those in flight
  unsigned threads = 0;                    // number of decoding threads; 0: one for each CPU
  unsigned attr_timeout_ms = 1000;         // how long the kernel caches names and attributes
  unsigned idle_ms = 0;                    // unmount after this time without use; 0: never
  bool list_info = false;                  // list the attributes that describe a frame
  std::optional<unsigned> uid;             // the owner that all files show; empty: their own
  std::optional<unsigned> gid;             // the group that all files show; empty: their own
  unsigned mode_mask = 0;                  // mode bits that no file shows
  std::string fs_name;                     // the source in lists of mounts; empty: SOURCE
  std::string subtype = "framefs";         // the type in lists of mounts, behind "fuse."
  std::vector<std::string> vfs_options;    // for the kernel, such as noexec
  RemoteOptions remote;
  codec::Limits limits;
  // The options that the user has given, as words of -o such as "threads=3", without those that a
  // remount can change.
  std::vector<std::string> given;
};

}  // namespace framefs::fs
