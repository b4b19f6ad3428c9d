#include "fs/remote/remote_store.h"

#include <sys/prctl.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <utility>

#include "fs/net/credentials/aws_profile.h"
#include "fs/net/credentials/credential_chain.h"
#include "fs/net/remote_file.h"
#include "fs/net/store/s3_store.h"
#include "fs/net/store/source_url.h"
#include "fs/net/store/web_store.h"

namespace framefs::fs {
namespace {

net::RangeScheduler::Options memory_of(const RemoteOptions& options) {
  constexpr std::uint64_t kWithDiskCache = 64 << 20;
  const auto usual = options.cache_folder.empty() ? 0 : kWithDiskCache;
  return {.memory_bytes = options.memory_bytes,
          .whole_object_bytes = options.whole_object_bytes.value_or(usual)};
}

}  // namespace

RemoteStore::RemoteStore(std::string source_name, std::unique_ptr<net::NetworkThread> network,
                         std::unique_ptr<net::DiskCache> disk,
                         const net::RangeScheduler::Options& memory, Log& log)
    : source_name_(std::move(source_name)),
      health_(source_name_, log),
      network_(std::move(network)),
      disk_(std::move(disk)),
      queue_(*network_, stats_, health_),
      scheduler_(queue_, stats_, network_->bodies(), disk_.get(), memory) {}

// The callbacks of the network thread use all other members.
RemoteStore::~RemoteStore() { stop(); }

void RemoteStore::stop() { network_->stop(); }

Status RemoteStore::open_s3(const MountOptions& options, const net::AwsEnvironment& environment,
                            net::CredentialAccess& access, const std::string& bucket,
                            const std::string& prefix) {
  const auto& remote = options.remote;
  FRAMEFS_TRY(const auto profile, net::AwsProfile::load(environment, remote.profile));
  const auto first = [](const std::string& given,
                        std::initializer_list<std::optional<std::string>> others) {
    if (!given.empty()) return given;
    for (const auto& other : others) {
      if (other) return *other;
    }
    return std::string{};
  };
  const auto region =
      first(remote.region, {environment.find("AWS_REGION"), environment.find("AWS_DEFAULT_REGION"),
                            profile.find("region"), "us-east-1"});
  if (remote.anonymous) {
    keeper_ = net::CredentialKeeper::anonymous();
  } else {
    // A core dump must not contain keys.
    ::prctl(PR_SET_DUMPABLE, 0);
    FRAMEFS_TRY(auto chain, net::CredentialChain::make(*network_, environment, profile,
                                                       {remote.profile, region}, access));
    keeper_ =
        std::make_unique<net::CredentialKeeper>(std::move(chain), [this] { return clock_.now(); });
  }
  const auto endpoint =
      first(remote.endpoint, {environment.find("AWS_ENDPOINT_URL_S3"),
                              environment.find("AWS_ENDPOINT_URL"), profile.find("endpoint_url")});
  FRAMEFS_TRY(objects_, net::S3Store::make(queue_, *keeper_, clock_,
                                           {.bucket = bucket,
                                            .prefix = prefix,
                                            .region = region,
                                            .endpoint = endpoint,
                                            .requester_pays = remote.requester_pays}));
  return {};
}

Result<std::unique_ptr<RemoteStore>> RemoteStore::open(const MountOptions& options,
                                                       const net::AwsEnvironment& environment,
                                                       net::CredentialAccess& access, Log& log) {
  FRAMEFS_TRY(const auto source, net::parse_source_url(options.source.string()));
  std::unique_ptr<net::DiskCache> disk;
  if (!options.remote.cache_folder.empty()) {
    FRAMEFS_TRY(disk, net::DiskCache::open({.folder = options.remote.cache_folder,
                                            .quota_bytes = options.remote.cache_disk_bytes},
                                           log));
  }
  net::NetworkOptions network_options;
  network_options.ca_file = options.remote.ca_file;
  FRAMEFS_TRY(auto network, net::NetworkThread::make(std::move(network_options)));
  std::unique_ptr<RemoteStore> store(new RemoteStore(net::shown_source(options.source.string()),
                                                     std::move(network), std::move(disk),
                                                     memory_of(options.remote), log));
  if (source.kind == net::StoreKind::s3) {
    FRAMEFS_CHECK(store->open_s3(options, environment, access, source.bucket, source.prefix));
  } else {
    const auto listing = source.kind == net::StoreKind::dav ? net::WebStore::Listing::dav
                                                            : net::WebStore::Listing::page;
    store->objects_ = std::make_unique<net::WebStore>(store->queue_, source.url, listing);
  }
  return store;
}

std::string RemoteStore::name_of(const std::string& path) const {
  if (path.empty()) return source_name_;
  return source_name_ + (source_name_.ends_with('/') ? "" : "/") + path;
}

void RemoteStore::start() {
  network_->start();
  if (disk_) disk_->start();
}

Status RemoteStore::fetch_credentials() { return keeper_ ? keeper_->start() : Status{}; }

Result<net::RemoteOpened> RemoteStore::open_frame(const std::string& path,
                                                  const std::optional<KnownHead>& head) {
  if (!head || !head->version.is_strong() || head->version.size <= net::kHeadBytes) {
    FRAMEFS_TRY(auto opened, objects_->open(path));
    FRAMEFS_CHECK(scheduler_.check_size(*opened.object));
    return opened;
  }
  const auto& [version, part] = *head;
  const auto tail = net::RemoteFile::tail_of(version.size);
  if (scheduler_.holds(version, tail)) {
    // The request only asks for the present version.
    return objects_->open(path, {.range = {0, part.bytes->size()}});
  }
  auto opened = objects_->open(path, {.range = tail, .version = version});
  if (!opened && opened.error().sys == ESTALE) return objects_->open(path);
  if (!opened) return opened;
  const auto size = std::min<std::uint64_t>(part.bytes->size(), tail.offset);
  const auto begin = part.bytes->begin();
  scheduler_.keep(*opened->object, {0, std::make_shared<const std::vector<std::byte>>(
                                           begin, begin + static_cast<std::ptrdiff_t>(size))});
  return opened;
}

std::shared_ptr<const codec::ByteSource> RemoteStore::bytes_of(const net::RemoteOpened& opened,
                                                               net::FetchAhead ahead) {
  scheduler_.keep(*opened.object, opened.part);
  return std::make_shared<const net::RemoteFile>(scheduler_, opened.object, ahead);
}

}  // namespace framefs::fs
