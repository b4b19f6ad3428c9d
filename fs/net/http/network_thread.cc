#include "fs/net/http/network_thread.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "fs/core/files/file.h"
#include "fs/core/threads/background_thread.h"
#include "fs/net/http/curl_transfer.h"
#include "fs/net/http/system_certificates.h"

namespace framefs::net {
namespace {

// Connections that are kept open when no request uses them.
constexpr long kIdleConnections = 128;
// The thread wakes up this often even if nothing wakes it earlier.
constexpr std::chrono::milliseconds kIdlePoll{60'000};
// Handles are kept for reuse up to this number.
constexpr std::size_t kSpareHandles = 128;

// The content of the file of --cacert.
Result<std::string> certificates_in(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return fs::refusal(EISDIR, "--cacert must be a file, and this is a directory");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) return fs::refusal(ENOENT, "the file of --cacert cannot be read");
  return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace

// The state of libcurl.  The destructor releases it in the order that libcurl requires.
struct NetworkThread::Multi {
  CURLM* handle = nullptr;
  std::vector<CURL*> spare;

  Multi() = default;
  Multi(const Multi&) = delete;
  Multi& operator=(const Multi&) = delete;
  ~Multi() {
    for (auto* const easy : spare) curl_easy_cleanup(easy);
    curl_multi_cleanup(handle);
    curl_global_cleanup();
  }
  CURL* take_handle() {
    if (spare.empty()) return curl_easy_init();
    auto* const easy = spare.back();
    spare.pop_back();
    return easy;
  }
  void give_back(CURL* easy) {
    if (spare.size() < kSpareHandles) {
      spare.push_back(easy);
    } else {
      curl_easy_cleanup(easy);
    }
  }
};

Result<std::unique_ptr<NetworkThread>> NetworkThread::make(NetworkOptions options) {
  if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
    return fs::system_error_of(ENOMEM, "libcurl");
  }
  auto multi = std::make_unique<Multi>();
  multi->handle = curl_multi_init();
  if (multi->handle == nullptr) return fs::system_error_of(ENOMEM, "libcurl");
  curl_multi_setopt(multi->handle, CURLMOPT_MAXCONNECTS, kIdleConnections);
  if (!options.ca_file.empty()) {
    FRAMEFS_TRY(options.ca_certificates, certificates_in(options.ca_file));
  }
  options.system_ca_file = system_certificates(curl_version_info(CURLVERSION_NOW)->cainfo);
  return std::unique_ptr<NetworkThread>(new NetworkThread(std::move(options), std::move(multi)));
}

NetworkThread::NetworkThread(NetworkOptions options, std::unique_ptr<Multi> multi)
    : options_(std::move(options)), multi_(std::move(multi)) {}

void NetworkThread::start() {
  thread_ = fs::background_thread([this](const std::stop_token& stop) { run(stop); });
}

NetworkThread::~NetworkThread() { stop(); }

void NetworkThread::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  curl_multi_wakeup(multi_->handle);
  thread_.join();
  const auto left = inbox_.with([](Inbox& inbox) {
    inbox.is_stopped = true;
    return std::exchange(inbox.commands, {});
  });
}

auto NetworkThread::post(std::variant<Submission, Timer, Cancellation> what, Ticket ticket)
    -> Ticket {
  const auto number = inbox_.with([&](Inbox& inbox) {
    const auto chosen = ticket != 0 ? ticket : inbox.next_ticket++;
    // After stop(), the command is dropped and its callback is not called.
    if (!inbox.is_stopped) inbox.commands.push_back({chosen, std::move(what)});
    return chosen;
  });
  curl_multi_wakeup(multi_->handle);
  return number;
}

auto NetworkThread::submit(HttpRequest request, Done done) -> Ticket {
  return post(Submission{std::move(request), std::move(done)});
}

auto NetworkThread::call_at(Clock::time_point when, std::function<void()> body) -> Ticket {
  return post(Timer{when, std::move(body)});
}

void NetworkThread::cancel(Ticket ticket) { post(Cancellation{}, ticket); }

void NetworkThread::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    take_commands();
    int active = 0;
    curl_multi_perform(multi_->handle, &active);
    finish_transfers();
    run_timers();
    // A command that the callbacks above have posted ends this poll at once.
    curl_multi_poll(multi_->handle, nullptr, 0, poll_timeout_ms(), nullptr);
  }
  while (!running_.empty()) drop(running_.begin()->first);
}

void NetworkThread::take_commands() {
  auto commands = inbox_.with(
      [](Inbox& inbox) { return std::exchange(inbox.commands, std::vector<Command>{}); });
  for (auto& [ticket, what] : commands) {
    if (auto* const submission = std::get_if<Submission>(&what)) {
      begin(ticket, std::move(*submission));
    } else if (auto* const timer = std::get_if<Timer>(&what)) {
      timers_.emplace(timer->when, std::pair{ticket, std::move(timer->body)});
      timer_of_.emplace(ticket, timer->when);
    } else {
      drop(ticket);
    }
  }
}

void NetworkThread::begin(Ticket ticket, Submission submission) {
  auto* const easy = multi_->take_handle();
  if (easy == nullptr) {
    submission.done(fs::system_error_of(ENOMEM, "libcurl"));
    return;
  }
  auto transfer = std::make_unique<CurlTransfer>(easy, ticket, std::move(submission.request),
                                                 std::move(submission.done), bodies_, connections_);
  transfer->prepare(options_);
  curl_multi_add_handle(multi_->handle, easy);
  const auto& entry = *running_.emplace(ticket, std::move(transfer)).first->second;
  if (entry.request().is_first_of_many) open_connections_for(entry);
}

// They are open when the answer arrives.
void NetworkThread::open_connections_for(const CurlTransfer& transfer) {
  const auto time = now();
  if (!connections_.top_up(transfer.server(), running_.size(), time)) return;
  const Ticket no_ticket = 0;
  timers_.emplace(time + SpareConnections::kMaxAge,
                  std::pair{no_ticket, [this] { connections_.close_old(now()); }});
}

void NetworkThread::drop(Ticket ticket) {
  if (auto timer = timer_of_.extract(ticket)) {
    const auto [first, last] = timers_.equal_range(timer.mapped());
    timers_.erase(
        std::find_if(first, last, [&](const auto& entry) { return entry.second.first == ticket; }));
    return;
  }
  auto found = running_.extract(ticket);
  if (!found) return;
  auto* const easy = found.mapped()->easy();
  curl_multi_remove_handle(multi_->handle, easy);
  found.mapped().reset();
  multi_->give_back(easy);
}

void NetworkThread::finish_transfers() {
  int left = 0;
  while (const auto* const message = curl_multi_info_read(multi_->handle, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    auto* const easy = message->easy_handle;
    const auto code = message->data.result;
    void* self = nullptr;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, &self);
    auto found = running_.extract(static_cast<CurlTransfer*>(self)->ticket());
    curl_multi_remove_handle(multi_->handle, easy);
    found.mapped()->finish(code);
    found.mapped().reset();
    multi_->give_back(easy);
  }
}

void NetworkThread::run_timers() {
  while (!timers_.empty() && timers_.begin()->first <= now()) {
    auto due = timers_.extract(timers_.begin());
    timer_of_.erase(due.mapped().first);
    due.mapped().second();
  }
}

int NetworkThread::poll_timeout_ms() const {
  auto wait = kIdlePoll;
  if (!timers_.empty()) {
    const auto left = timers_.begin()->first - now();
    // The wait is rounded up, because a thread that wakes a little early must wait again.
    wait = std::clamp(std::chrono::ceil<std::chrono::milliseconds>(left),
                      std::chrono::milliseconds{0}, kIdlePoll);
  }
  return static_cast<int>(wait.count());
}

}  // namespace framefs::net
