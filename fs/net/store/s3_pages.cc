#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "fs/core/files/file.h"
#include "fs/core/threads/interrupt.h"
#include "fs/net/store/s3_listing.h"
#include "fs/net/store/s3_store.h"
#include "fs/net/store/xml_text.h"

namespace framefs::net {
namespace {

constexpr const char* kPageKeys = "1000";
// As many keys of the longest kind, in the longest encoding, take a quarter of that.
constexpr std::uint64_t kMaxPageBytes = 16 << 20;

using LandedPage = fs::Guarded<std::optional<Result<HttpAnswer>>>;

// The answer is parsed by the thread that waits for it: the network thread must not take long.
class S3Page final : public PageRequest {
 public:
  S3Page(std::shared_ptr<LandedPage> landed, std::string prefix, ListingBudget::Charge table)
      : landed_(std::move(landed)), prefix_(std::move(prefix)), table_(std::move(table)) {}

  Result<ListedPage> wait() override {
    auto landed = landed_->wait_unless(
        fs::interrupted, [](const auto& answer) { return answer.has_value(); },
        [](auto& answer) { return std::exchange(answer, std::nullopt); });
    if (!landed) return fs::system_error_of(EINTR, "S3 listing");
    FRAMEFS_TRY(const auto answer, std::move(*landed));
    if (answer.is_refused_by_meter) return over_listing_budget();
    if (answer.body_too_long) return codec::fail(Errc::over_limit, "S3 listing");
    // The parser is charged before it takes its memory.
    auto parser = table_.split(0);
    if (!parser.grow(xml_memory(answer.text()))) return over_listing_budget();
    FRAMEFS_TRY(const auto page, parse_s3_listing(answer.text(), prefix_));
    EntryTableBuilder builder(std::move(table_));
    for (const auto& entry : page.entries) FRAMEFS_CHECK(builder.add(entry));
    auto listed = builder.finish();
    listed.continuation = page.continuation;
    return listed;
  }

 private:
  const std::shared_ptr<LandedPage> landed_;
  const std::string prefix_;
  ListingBudget::Charge table_;
};

}  // namespace

std::unique_ptr<PageRequest> S3Store::start_page(const std::string& folder,
                                                 const std::string& continuation,
                                                 PageCharge charge) {
  const auto key = key_of(folder);
  const auto prefix = key.empty() ? "" : key + "/";
  const auto landed = std::make_shared<LandedPage>();
  const auto adjust =
      [meters = body_meters(std::move(charge.body), kMaxPageBytes)](HttpRequest& request) {
        request.max_body_bytes = kMaxPageBytes;
        request.meter = meters();
      };
  auto call = list_call(prefix, continuation, kPageKeys, adjust);
  queue_.start(std::move(call), [landed](Result<HttpAnswer> answer) {
    landed->with_and_wake([&](auto& value) { value = std::move(answer); });
  });
  return std::make_unique<S3Page>(landed, prefix, std::move(charge.table));
}

}  // namespace framefs::net
