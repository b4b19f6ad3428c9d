#include "src/pack/unpacker.h"

#include <fcntl.h>

#include <cerrno>
#include <climits>
#include <utility>
#include <variant>

#include "fs/net/store/source_url.h"
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

// A container is mounted as a directory of its own name.  An unpacked directory beside the
// container needs another name.
std::string name_of_container(const std::string& name) {
  const stdfs::path file(name);
  return file.has_extension() ? file.stem().string() : "";
}

// The name of a source for people.
std::string name_of(const UnpackSource& source) {
  return source.path.substr(source.path.rfind('/') + 1);
}

// A file gets the time of its source before it gets its name.
bool is_complete(const fs::Place& target, const struct stat& source) {
  const auto st = target.stat();
  return st && S_ISREG(st->st_mode) && st->st_size == source.st_size &&
         st->st_mtim.tv_sec == source.st_mtim.tv_sec &&
         st->st_mtim.tv_nsec == source.st_mtim.tv_nsec;
}

fs::FrameSummary summarise_origin(const fs::FrameOrigin& origin, const std::string& name) {
  return fs::summarise(*origin.source, fs::expected_content(name), {});
}

// `own_name` is the name that the user or the directory gives it.
Result<UnpackSource> unpack_source_of(const fs::NamedSource& named, const std::string& own_name,
                                      const UnpackOptions& options) {
  UnpackSource source{.path = named.file.path(),
                      .file = named.file,
                      .member = named.member,
                      .is_directory = false,
                      .name = {},
                      .mode = named.entry.stat.st_mode};
  const bool is_member = !named.member.empty();
  if (std::holds_alternative<fs::ContainerDirectory>(named.found)) {
    source.is_directory = true;
    source.name = is_member ? own_name : name_of_container(own_name);
    return source;
  }
  const auto& origin = std::get<fs::FrameOrigin>(named.found);
  auto summary = named.entry.summary;
  if (is_member) summary = summarise_origin(origin, own_name);
  // A member of a container may be a file of any kind.
  const bool is_plain = is_member && summary.content == fs::Content::other;
  if (!is_plain) FRAMEFS_CHECK(fs::open_frame_at(origin, {}));
  const auto names = fs::wanted_names(own_name, summary, options.arrays);
  if (!names.empty()) source.name = names.front().name;
  if (is_plain) source.name = own_name;
  return source;
}

}  // namespace

Result<UnpackSource> find_unpack_source(const stdfs::path& path, const UnpackOptions& options,
                                        fs::Log& log) {
  FRAMEFS_TRY(const auto named, fs::open_named_source(path, options.offset, {}, log));
  const auto& own = named.member.empty() ? path : stdfs::path(named.member);
  return unpack_source_of(named, own.filename().string(), options);
}

Result<UnpackSource> find_unpack_source(const fs::Place& place, const UnpackOptions& options,
                                        fs::Log& log) {
  FRAMEFS_TRY(const auto named, fs::open_source_at(place, options.offset, {}, log));
  return unpack_source_of(named, place.name(), options);
}

Result<UnpackSource> find_remote_source(const std::string& url, const UnpackOptions& options,
                                        const TreeFilter& filter, RemoteOpener& remote,
                                        fs::Log& log) {
  fs::MountOptions mount;
  mount.source = url;
  mount.arrays = options.arrays;
  mount.threads = options.threads;
  constexpr mode_t kWritable = 0200;  // servers have no modes
  auto shown = net::shown_source(url);
  shown.resize(shown.find_last_not_of('/') + 1);
  UnpackSource source{.path = shown, .file = {}, .member = {}, .name = {}, .mode = kWritable};
  FRAMEFS_TRY(source.tree, ShownTree::open(std::move(mount), remote, log));
  source.is_directory = !source.tree->is_single();
  if (source.is_directory) {
    const auto last = shown.substr(shown.rfind('/') + 1);
    const bool is_prefix = fs::expected_content(last) == fs::Expected::nothing;
    source.name = is_prefix ? last : name_of_container(last);
    if (is_prefix) source.filter = &filter;
    return source;
  }
  FRAMEFS_TRY(const auto root, source.tree->open_directory(fs::kRootNode));
  FRAMEFS_TRY(const auto entries, source.tree->list(*root));
  if (entries.empty()) return fs::system_error_of(ENOENT, "lookup");
  if (entries.front().shown.shown_as == fs::ShownAs::itself) {
    return codec::fail(codec::Errc::bad_field, "frame magic");
  }
  source.name = entries.front().shown.name;
  FRAMEFS_TRY(const auto found, source.tree->lookup(*root, entries.front()));
  source.node = found.id;
  return source;
}

Result<Unpacker> Unpacker::open(const UnpackSource& source, const UnpackOptions& options,
                                fs::Log& log, Stop stop, Report report) {
  Unpacker unpacker(source, options, std::move(stop), std::move(report));
  if (source.tree) {
    unpacker.tree_ = source.tree;
    unpacker.root_ = source.node;
    return unpacker;
  }
  fs::MountOptions mount;
  mount.read_only = true;
  mount.verify_checksums = true;
  mount.source = source.path;  // for messages
  mount.onto_file = !source.is_directory && source.member.empty();
  mount.source_offset = options.offset;
  mount.arrays = options.arrays;
  mount.threads = options.threads;
  // A single member is looked up by its full name in the container.
  mount.keep_suffix = !source.member.empty() && !source.is_directory;
  FRAMEFS_TRY(auto root, fs::SourceRoot::entry_at(*source.file));
  FRAMEFS_TRY(unpacker.tree_, ShownTree::open_at(mount, std::move(root), log));
  FRAMEFS_CHECK(unpacker.find_member());
  return unpacker;
}

Status Unpacker::find_member() {
  for (const auto& name : stdfs::path(source_.member)) {
    FRAMEFS_TRY(const auto found, tree_->lookup(root_, name.string()));
    root_ = found.id;
  }
  return {};
}

bool Unpacker::fail(const std::string& target, const codec::Error& error) const {
  // A member of a container that fails is known by its target.
  const bool is_of_target = error.is_of_target || source_.is_directory;
  if (!stop_()) report_(is_of_target ? target : source_.path, error);
  return false;
}

Status Unpacker::copy(fs::NodeId node, codec::ByteSink& sink, const std::string& name) const {
  FRAMEFS_TRY(const auto file, tree_->open_file(node));
  FRAMEFS_TRY(const auto size, file->size());
  ProgressBar progress(name, size, options_.quiet);
  return copy_out(*file, sink, [&](std::uint64_t done) {
    progress.update(done);
    return !stop_();
  });
}

Status Unpacker::to_sink(codec::ByteSink& sink) const {
  return copy(root_, sink, name_of(source_));
}

bool Unpacker::to_stream(int target, const std::string& name) const {
  StreamSink sink(target);
  const auto copied = copy(root_, sink, name_of(source_));
  return copied ? true : fail(name, copied.error());
}

Status Unpacker::make_file(fs::NodeId node, const fs::Place& target) const {
  FRAMEFS_TRY(auto file, ReplacementFile::create(target, options_.may_replace));
  FRAMEFS_TRY(auto st, tree_->stat(node));
  FRAMEFS_CHECK(copy(node, file.sink(), target.name()));
  // A mount shows members of a container as not writable.  The unpacked file is writable if the
  // container is.
  const bool is_member = source_.is_directory || !source_.member.empty();
  if (is_member || !source_.file) {
    st.st_mode |= source_.mode & 0222;
  } else {
    FRAMEFS_TRY(const auto from, source_.file->open(O_PATH));
    FRAMEFS_CHECK(carry_attributes(from.get(), st, file.sink().fd()));
  }
  return file.publish(st);
}

bool Unpacker::write_file(fs::NodeId node, const fs::Place& target) const {
  const auto made = make_file(node, target);
  return made ? true : fail(target.path(), made.error());
}

bool Unpacker::to_directory(const fs::Place& target) const {
  if (!write_directory(root_, target, "")) return false;
  if (source_.filter != nullptr) return true;  // servers have no times of directories
  const auto dated = take_time(target);
  return dated ? true : fail(target.path(), dated.error());
}

Status Unpacker::take_time(const fs::Place& target) const {
  FRAMEFS_TRY(const auto st, tree_->stat(root_));
  FRAMEFS_TRY(const auto directory, codec::of_target(target.open_directory()));
  const timespec times[2] = {{.tv_sec = 0, .tv_nsec = UTIME_OMIT}, st.st_mtim};
  if (::utimensat(directory->get(), ".", times, AT_SYMLINK_NOFOLLOW) == 0) return {};
  return codec::of_target(fs::system_error("utimens"));
}

Result<fs::Place::Directory> Unpacker::make_directory(const fs::Place& target,
                                                      bool is_first) const {
  FRAMEFS_TRY(const bool is_new, codec::of_target(target.make_directory()));
  const bool may_be_there = options_.may_replace || !is_first || source_.filter != nullptr;
  if (!is_new && !may_be_there) return codec::of_target(fs::system_error_of(EEXIST, "mkdir"));
  return codec::of_target(target.open_directory());
}

bool Unpacker::write_entry(const fs::NodeEntry& entry, const fs::Place& target,
                           const std::string& path) const {
  const bool is_directory = S_ISDIR(entry.stat.st_mode);
  const auto* const filter = source_.filter;
  if (filter != nullptr && filter->excludes(path)) return true;
  // A server may show a directory inside itself.
  if (path.size() >= PATH_MAX) {
    return fail(target.path(), fs::system_error_of(ENAMETOOLONG, "directory").error());
  }
  if (is_directory) return write_directory(entry.id, target, path + "/");
  if (filter != nullptr && !filter->takes(path)) return true;
  if (filter != nullptr && !options_.may_replace && is_complete(target, entry.stat)) return true;
  return write_file(entry.id, target);
}

// Recursion is safe because paths are short.
bool Unpacker::write_directory(fs::NodeId node, const fs::Place& target,
                               const std::string& below) const {
  const auto made = make_directory(target, below.empty());
  if (!made) return fail(target.path(), made.error());
  const auto directory = tree_->open_directory(node);
  if (!directory) return fail(target.path(), directory.error());
  const auto entries = tree_->list(**directory);
  if (!entries) return fail(target.path(), entries.error());
  bool all = true;
  for (const auto& entry : *entries) {
    if (stop_()) return false;
    const fs::Place to(*made, entry.shown.name, target.path() + "/" + entry.shown.name);
    const auto found = tree_->lookup(**directory, entry);
    if (!found) {
      all = fail(to.path(), found.error());
      continue;
    }
    all = write_entry(*found, to, below + entry.shown.name) && all;
    tree_->forget(found->id);
  }
  return all;
}

}  // namespace framefs
