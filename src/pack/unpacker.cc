#include "src/pack/unpacker.h"

#include <fcntl.h>

#include <cerrno>
#include <system_error>
#include <utility>
#include <variant>

#include "fs/source/named_source.h"
#include "fs/source/suffixes.h"
#include "src/cli/progress_bar.h"
#include "src/cli/stream_sink.h"
#include "src/pack/carried_attributes.h"
#include "src/pack/copy_out.h"
#include "src/pack/replacement_file.h"

namespace framefs {
namespace {

namespace stdfs = std::filesystem;
using codec::Result;
using codec::Status;

// An open file.  The destructor closes it.
class Opened {
 public:
  static Result<Opened> open(fs::Filesystem& files, fs::NodeId node) {
    FRAMEFS_TRY(auto opened, files.contents().open(node, O_RDONLY));
    return Opened(files, std::move(opened.file));
  }
  Opened(Opened&&) noexcept = default;
  Opened& operator=(Opened&&) = delete;
  ~Opened() {
    if (file_) files_.contents().close(*file_);
  }
  [[nodiscard]] fs::OpenFile& file() const noexcept { return *file_; }

 private:
  Opened(fs::Filesystem& files, std::unique_ptr<fs::OpenFile> file)
      : files_(files), file_(std::move(file)) {}
  fs::Filesystem& files_;
  std::unique_ptr<fs::OpenFile> file_;
};

// A container is mounted as a directory of its own name.  An unpacked directory beside the
// container needs another name.
std::string name_of_container(const stdfs::path& file) {
  return file.has_extension() ? file.stem().string() : "";
}

fs::FrameSummary summarise_origin(const fs::FrameOrigin& origin, const std::string& name) {
  return fs::summarise(*origin.source, fs::expected_content(name), {});
}

}  // namespace

Result<UnpackSource> find_unpack_source(const stdfs::path& path, const UnpackOptions& options,
                                        fs::Log& log) {
  const codec::Limits limits;
  FRAMEFS_TRY(const auto named, fs::open_named_source(path, options.offset, limits, log));
  UnpackSource source;
  source.file = named.file;
  source.member = named.member;
  source.mode = named.entry.stat.st_mode;
  if (std::holds_alternative<fs::ContainerDirectory>(named.found)) {
    source.is_directory = true;
    source.name = named.member.empty() ? name_of_container(path.filename())
                                       : stdfs::path(named.member).filename().string();
    return source;
  }
  const auto& origin = std::get<fs::FrameOrigin>(named.found);
  const bool is_member = !named.member.empty();
  auto summary = named.entry.summary;
  const auto own_name = is_member ? stdfs::path(named.member).filename() : path.filename();
  if (is_member) summary = summarise_origin(origin, own_name.string());
  // A member of a container may be a file of any kind.
  const bool is_plain = is_member && summary.content == fs::Content::other;
  if (!is_plain) FRAMEFS_CHECK(fs::open_frame_at(origin, limits));
  const auto names = fs::wanted_names(own_name.string(), summary, options.arrays);
  if (!names.empty()) source.name = names.front().name;
  if (is_plain) source.name = own_name.string();
  return source;
}

Result<Unpacker> Unpacker::open(const UnpackSource& source, const UnpackOptions& options,
                                fs::Log& log, Stop stop, Report report) {
  fs::MountOptions mount;
  mount.read_only = true;
  mount.verify_checksums = true;
  mount.source = source.file;
  mount.onto_file = !source.is_directory && source.member.empty();
  mount.source_offset = options.offset;
  mount.arrays = options.arrays;
  mount.threads = options.threads;
  Unpacker unpacker(source, options, std::move(stop), std::move(report));
  // A single member is looked up by its full name in the container.
  mount.keep_suffix = !source.member.empty() && !source.is_directory;
  FRAMEFS_TRY(unpacker.files_, fs::Filesystem::open(mount, log));
  FRAMEFS_CHECK(unpacker.find_member());
  return unpacker;
}

Status Unpacker::find_member() {
  for (const auto& name : stdfs::path(source_.member)) {
    FRAMEFS_TRY(const auto found, files_->tree().lookup(root_, name.string()));
    root_ = found.id;
  }
  return {};
}

bool Unpacker::fail(const stdfs::path& target, const codec::Error& error) const {
  // A member of a container that fails is known by its target.
  const bool is_of_target = error.is_of_target || source_.is_directory;
  if (!stop_()) report_(is_of_target ? target : source_.file, error);
  return false;
}

Status Unpacker::copy(fs::NodeId node, codec::ByteSink& sink, const std::string& name) const {
  FRAMEFS_TRY(const auto opened, Opened::open(*files_, node));
  FRAMEFS_TRY(const auto st, files_->tree().stat_file(opened.file()));
  const auto size = static_cast<std::uint64_t>(st.st_size);
  ProgressBar progress(name, size, options_.quiet);
  return copy_out(*files_, opened.file(), size, sink, [&](std::uint64_t done) {
    progress.update(done);
    return !stop_();
  });
}

Status Unpacker::to_sink(codec::ByteSink& sink) const {
  return copy(root_, sink, source_.file.filename().string());
}

bool Unpacker::to_stream(int target, const std::string& name) const {
  StreamSink sink(target);
  const auto copied = copy(root_, sink, source_.file.filename().string());
  return copied ? true : fail(name, copied.error());
}

Status Unpacker::make_file(fs::NodeId node, const stdfs::path& target) const {
  FRAMEFS_TRY(auto file, ReplacementFile::create(target, options_.may_replace));
  FRAMEFS_TRY(auto st, files_->tree().stat_node(node));
  FRAMEFS_CHECK(copy(node, file.sink(), target.filename().string()));
  // A mount shows members of a container as not writable.  The unpacked file is writable if the
  // container is.
  const bool is_member = source_.is_directory || !source_.member.empty();
  if (is_member) st.st_mode |= source_.mode & 0222;
  if (!is_member) FRAMEFS_CHECK(carry_attributes(source_.file, st, file.sink().fd()));
  return file.publish(st);
}

bool Unpacker::write_file(fs::NodeId node, const stdfs::path& target) const {
  const auto made = make_file(node, target);
  return made ? true : fail(target, made.error());
}

bool Unpacker::to_directory(const stdfs::path& target) const {
  if (!write_directory(root_, target, true)) return false;
  const auto dated = take_time(target);
  return dated ? true : fail(target, dated.error());
}

Status Unpacker::take_time(const stdfs::path& directory) const {
  FRAMEFS_TRY(const auto st, files_->tree().stat_node(root_));
  const timespec times[2] = {{.tv_sec = 0, .tv_nsec = UTIME_OMIT}, st.st_mtim};
  if (::utimensat(AT_FDCWD, directory.c_str(), times, 0) == 0) return {};
  return codec::of_target(fs::system_error("utimens"));
}

Status Unpacker::make_directory(const stdfs::path& target, bool is_first) const {
  if (::mkdir(target.c_str(), 0777) == 0) return {};
  const int error = errno;
  std::error_code ignored;
  const bool may_be_there = options_.may_replace || !is_first;
  if (error == EEXIST && may_be_there && stdfs::is_directory(target, ignored)) return {};
  return codec::of_target(fs::system_error_of(error, "mkdir"));
}

// Recursion is safe because paths in a container are short.
bool Unpacker::write_directory(fs::NodeId node, const stdfs::path& target, bool is_first) const {
  if (const auto made = make_directory(target, is_first); !made) return fail(target, made.error());
  const auto directory = files_->tree().open_directory(node);
  if (!directory) return fail(target, directory.error());
  const auto entries = files_->tree().list(**directory);
  if (!entries) return fail(target, entries.error());
  bool all = true;
  for (const auto& entry : *entries) {
    if (stop_()) return false;
    const auto to = target / entry.shown.name;
    const auto found = files_->tree().lookup(**directory, entry);
    if (!found) {
      all = fail(to, found.error());
      continue;
    }
    const bool done = S_ISDIR(found->stat.st_mode) ? write_directory(found->id, to, false)
                                                   : write_file(found->id, to);
    all = all && done;
    files_->tree().forget(found->id, 1);
  }
  return all;
}

}  // namespace framefs
