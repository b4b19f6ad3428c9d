#include "src/shown/shown_tree.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "fs/net/store/source_url.h"
#include "fs/remote/remote_tree.h"
#include "fs/tree/filesystem.h"
#include "fs/tree/mount_root.h"
#include "src/cli/path_lookup.h"
#include "src/pack/same_content.h"

namespace framefs {
namespace {

using codec::Result;
using codec::Status;

class LocalFile final : public ShownFile {
 public:
  static Result<std::unique_ptr<ShownFile>> open(fs::Filesystem& files, fs::NodeId node) {
    FRAMEFS_TRY(auto opened, files.contents().open_reader(node));
    FRAMEFS_TRY(const auto before, opened->source.content_stat());
    return std::make_unique<LocalFile>(files, std::move(opened), before);
  }
  LocalFile(fs::Filesystem& files, std::shared_ptr<fs::OpenFile> file, const struct stat& before)
      : files_(files), file_(std::move(file)), before_(before) {}

  Result<std::uint64_t> size() const override {
    FRAMEFS_TRY(const auto st, files_.tree().stat_file(*file_));
    return static_cast<std::uint64_t>(st.st_size);
  }
  Result<fs::ReadResult> read(std::uint64_t offset, std::uint64_t size) override {
    return files_.contents().read(*file_, offset, size);
  }
  Result<std::uint64_t> seek(fs::Seek what, std::uint64_t offset) override {
    return files_.contents().seek(*file_, what, offset);
  }
  Status check_unchanged() const override {
    FRAMEFS_TRY(const auto after, file_->source.content_stat());
    if (same_content(before_, after)) return {};
    return fs::refusal(ESTALE, "the frame changed while it was read");
  }

 private:
  fs::Filesystem& files_;
  const std::shared_ptr<fs::OpenFile> file_;
  const struct stat before_;
};

class FarFile final : public ShownFile {
 public:
  FarFile(fs::RemoteTree& tree, fs::NodeId node, std::shared_ptr<const fs::RemoteOpenFile> file)
      : tree_(tree), node_(node), file_(std::move(file)) {}

  Result<std::uint64_t> size() const override {
    FRAMEFS_TRY(const auto st, tree_.stat_node(node_));
    return static_cast<std::uint64_t>(st.st_size);
  }
  Result<fs::ReadResult> read(std::uint64_t offset, std::uint64_t size) override {
    return tree_.read(*file_, offset, size);
  }
  Result<std::uint64_t> seek(fs::Seek what, std::uint64_t offset) override {
    return file_->view->seek(what, offset);
  }
  // Each read compares the version.
  Status check_unchanged() const override { return {}; }

 private:
  fs::RemoteTree& tree_;
  const fs::NodeId node_;
  const std::shared_ptr<const fs::RemoteOpenFile> file_;
};

// The members that are the same for both kinds of trees.
template <class Tree>
class ShownNames : public ShownTree {
 public:
  Result<fs::NodeEntry> lookup(fs::NodeId parent, const std::string& name) override {
    return tree_.lookup(parent, name);
  }
  Result<fs::NodeEntry> lookup(const fs::OpenFolder& directory,
                               const fs::DirectoryEntry& entry) override {
    return tree_.lookup(directory, entry);
  }
  void forget(fs::NodeId node) override { tree_.forget(node, 1); }
  Result<struct stat> stat(fs::NodeId node) override { return tree_.stat_node(node); }
  Result<std::unique_ptr<fs::OpenFolder>> open_directory(fs::NodeId node) override {
    return tree_.open_directory(node);
  }
  Result<std::vector<fs::DirectoryEntry>> list(const fs::OpenFolder& directory) override {
    FRAMEFS_TRY(auto entries, tree_.list(directory));
    std::ranges::sort(entries, {}, [](const fs::DirectoryEntry& entry) -> const std::string& {
      return entry.shown.name;
    });
    return entries;
  }

 protected:
  explicit ShownNames(Tree& tree) : tree_(tree) {}

 private:
  Tree& tree_;
};

class LocalTree final : public ShownNames<fs::SourceTree> {
 public:
  LocalTree(std::unique_ptr<fs::Filesystem> files, bool is_single)
      : ShownNames(files->tree()), files_(std::move(files)), is_single_(is_single) {}
  bool is_single() const override { return is_single_; }
  Result<std::unique_ptr<ShownFile>> open_file(fs::NodeId node) override {
    return LocalFile::open(*files_, node);
  }

 private:
  const std::unique_ptr<fs::Filesystem> files_;
  const bool is_single_;
};

class FarTree final : public ShownNames<fs::RemoteTree> {
 public:
  explicit FarTree(std::unique_ptr<fs::RemoteTree> tree)
      : ShownNames(*tree), tree_(std::move(tree)) {}
  bool is_single() const override { return tree_->is_single_entry(); }
  Result<std::unique_ptr<ShownFile>> open_file(fs::NodeId node) override {
    FRAMEFS_TRY(auto opened, tree_->open_reader(node));
    return std::make_unique<FarFile>(*tree_, node, std::move(opened));
  }

 private:
  const std::unique_ptr<fs::RemoteTree> tree_;
};

}  // namespace

Result<std::unique_ptr<ShownTree>> ShownTree::open(fs::MountOptions options, RemoteOpener& remote,
                                                   fs::Log& log) {
  options.read_only = true;
  options.verify_checksums = true;
  if (net::is_source_url(options.source.string())) {
    FRAMEFS_TRY(auto tree, remote.tree(std::move(options), log));
    return std::make_unique<FarTree>(std::move(tree));
  }
  FRAMEFS_TRY(const auto root, fs::find_mount_root(options));
  const bool is_single = root.shown_as == fs::ShownAs::single_entry;
  FRAMEFS_TRY(auto files, fs::Filesystem::open(options, log));
  return std::make_unique<LocalTree>(std::move(files), is_single);
}

Result<std::unique_ptr<ShownTree>> ShownTree::open_at(const fs::MountOptions& options,
                                                      fs::SourceRoot source, fs::Log& log) {
  FRAMEFS_TRY(auto files, fs::Filesystem::open_at(options, std::move(source), log));
  return std::make_unique<LocalTree>(std::move(files), !options.onto_file);
}

Result<fs::NodeEntry> ShownTree::find(const std::string& path) {
  FRAMEFS_TRY(const auto root, stat(fs::kRootNode));
  return find_path({.id = fs::kRootNode, .stat = root}, path,
                   [this](fs::NodeId node, const std::string& name) { return lookup(node, name); });
}

}  // namespace framefs
