#include "fs/net/http/curl_transfer.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <span>
#include <utility>

#include "fs/core/files/file.h"
#include "fs/core/resources/heap.h"
#include "fs/net/http/public_address.h"

namespace framefs::net {
namespace {

// The body of an error is kept up to this size, even if the request expects a shorter body.
constexpr std::uint64_t kErrorBodyBytes = 64 << 10;
// The headers and trailers of an answer together, those of "100 Continue" included.
constexpr std::size_t kMaxHeaderBytes = 300 << 10;
// libcurl allocates the buffer for each transfer, so it must come from the heap.
constexpr long kReceiveBufferBytes = 48 << 10;
static_assert(std::cmp_less(kReceiveBufferBytes, fs::kMappedBytes));

// libcurl takes options through a variadic function; the types must be exactly these.
void set(CURL* easy, CURLoption option, long value) { curl_easy_setopt(easy, option, value); }
void set(CURL* easy, CURLoption option, const char* value) {
  curl_easy_setopt(easy, option, value);
}

// Only those codes are distinguished that a retry handles differently.
int errno_of(CURL* easy, CURLcode code) {
  switch (static_cast<int>(code)) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
      return EHOSTUNREACH;
    case CURLE_COULDNT_CONNECT: {
      long cause = 0;
      curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &cause);
      return cause == 0 ? ECONNREFUSED : static_cast<int>(cause);
    }
    case CURLE_OPERATION_TIMEDOUT:
      return ETIMEDOUT;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
      return EPROTO;
    default:
      return ECONNRESET;
  }
}

// `names_certificates`: the user has named a file of them.
Error error_of(CURL* easy, CURLcode code, bool names_certificates) {
  const int error = errno_of(easy, code);
  const auto because = [error](const char* text) { return fs::refusal(error, text).error(); };
  if (error == ECONNREFUSED) return because("the server refuses connections");
  if (code == CURLE_PEER_FAILED_VERIFICATION) {
    return because("the TLS certificate of the server is not trusted");
  }
  if (code == CURLE_SSL_CACERT_BADFILE) {
    return because(names_certificates
                       ? "the certificates of --cacert are invalid"
                       : "this system has no valid certificates: --cacert names some");
  }
  // libcurl's texts are string literals.
  return because(curl_easy_strerror(code));
}

std::chrono::nanoseconds time_info(CURL* easy, CURLINFO what) {
  curl_off_t us = 0;
  curl_easy_getinfo(easy, what, &us);
  return std::chrono::microseconds(us);
}

}  // namespace

CurlTransfer::CurlTransfer(CURL* easy, Transport::Ticket ticket, HttpRequest request,
                           Transport::Done done, BodyPool& bodies, SpareConnections& connections)
    : easy_(easy),
      ticket_(ticket),
      request_(std::move(request)),
      done_(std::move(done)),
      bodies_(bodies),
      connections_(connections) {}

CurlTransfer::~CurlTransfer() {
  curl_easy_reset(easy_);
  curl_slist_free_all(header_list_);
}

void CurlTransfer::set_method() {
  if (request_.method == "HEAD") {
    set(easy_, CURLOPT_NOBODY, 1L);
  } else if (request_.method != "GET") {
    set(easy_, CURLOPT_CUSTOMREQUEST, request_.method.c_str());
  }
  if (!request_.body.empty()) {
    set(easy_, CURLOPT_POSTFIELDSIZE, static_cast<long>(request_.body.size()));
    set(easy_, CURLOPT_POSTFIELDS, request_.body.data());
  }
}

void CurlTransfer::set_headers(const NetworkOptions& options) {
  for (const auto& [name, value] : request_.headers.fields()) {
    // A header without a value is written with a semicolon, or libcurl would leave it out.
    auto line = name;
    line.append(value.empty() ? ";" : ": ").append(value);
    header_list_ = curl_slist_append(header_list_, line.c_str());
  }
  // Ranges count stored bytes, so the server must not encode them.
  header_list_ = curl_slist_append(header_list_, "Accept-Encoding: identity");
  // Waiting for "100 Continue" costs a round trip.
  header_list_ = curl_slist_append(header_list_, "Expect:");
  curl_easy_setopt(easy_, CURLOPT_HTTPHEADER, header_list_);
  set(easy_, CURLOPT_USERAGENT, options.user_agent.c_str());
}

void CurlTransfer::prepare(const NetworkOptions& options) {
  url_ = request_.url.text();
  set(easy_, CURLOPT_URL, url_.c_str());
  // A key may contain "..", which does not mean the parent folder there.
  set(easy_, CURLOPT_PATH_AS_IS, 1L);
  set(easy_, CURLOPT_PROTOCOLS_STR, "http,https");
  set(easy_, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(easy_, CURLOPT_FOLLOWLOCATION, 0L);
  set(easy_, CURLOPT_NOSIGNAL, 1L);
  set(easy_, CURLOPT_TCP_KEEPALIVE, 1L);
  set(easy_, CURLOPT_BUFFERSIZE, kReceiveBufferBytes);
  set(easy_, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options.connect_timeout.count()));
  set(easy_, CURLOPT_TIMEOUT_MS, static_cast<long>(request_.timeout.count()));
  set(easy_, CURLOPT_LOW_SPEED_LIMIT, 1L);
  set(easy_, CURLOPT_LOW_SPEED_TIME, static_cast<long>(options.stall_timeout.count()));
  names_certificates_ = !options.ca_file.empty();
  if (names_certificates_) {
    set(easy_, CURLOPT_CAINFO, options.ca_file.c_str());
    curl_easy_setopt(easy_, CURLOPT_CAPATH, nullptr);
  } else if (!options.system_ca_file.empty()) {
    set(easy_, CURLOPT_CAINFO, options.system_ca_file.c_str());
  }
  if (!options.ca_certificates.empty()) {
    // libcurl only reads the bytes.
    curl_blob certificates{.data = const_cast<char*>(options.ca_certificates.data()),
                           .len = options.ca_certificates.size(),
                           .flags = CURL_BLOB_NOCOPY};
    curl_easy_setopt(easy_, CURLOPT_CAINFO_BLOB, &certificates);
  }
  if (request_.is_local) {
    set(easy_, CURLOPT_PROXY, "");
  }
  if (request_.use_netrc) {
    set(easy_, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_OPTIONAL));
  }
  curl_easy_setopt(easy_, CURLOPT_OPENSOCKETFUNCTION, &CurlTransfer::open_socket);
  curl_easy_setopt(easy_, CURLOPT_OPENSOCKETDATA, this);
  curl_easy_setopt(easy_, CURLOPT_SOCKOPTFUNCTION, &CurlTransfer::on_socket);
  curl_easy_setopt(easy_, CURLOPT_SOCKOPTDATA, this);
  // The connection outlives the transfer.
  curl_easy_setopt(easy_, CURLOPT_CLOSESOCKETFUNCTION, &CurlTransfer::close_socket);
  curl_easy_setopt(easy_, CURLOPT_CLOSESOCKETDATA, &connections_);
  // A connection that is open may lead anywhere.
  if (request_.is_public_only) set(easy_, CURLOPT_FRESH_CONNECT, 1L);
  set_method();
  set_headers(options);
  curl_easy_setopt(easy_, CURLOPT_HEADERFUNCTION, &CurlTransfer::on_header);
  curl_easy_setopt(easy_, CURLOPT_HEADERDATA, this);
  curl_easy_setopt(easy_, CURLOPT_WRITEFUNCTION, &CurlTransfer::on_body);
  curl_easy_setopt(easy_, CURLOPT_WRITEDATA, this);
  curl_easy_setopt(easy_, CURLOPT_PRIVATE, this);
}

std::size_t CurlTransfer::on_header(char* bytes, std::size_t size, std::size_t count, void* self) {
  return static_cast<CurlTransfer*>(self)->take_header({bytes, size * count}) ? size * count : 0;
}

std::size_t CurlTransfer::on_body(char* bytes, std::size_t size, std::size_t count, void* self) {
  return static_cast<CurlTransfer*>(self)->take_body({bytes, size * count}) ? size * count : 0;
}

curl_socket_t CurlTransfer::open_socket(void* self, curlsocktype, curl_sockaddr* address) {
  auto& transfer = *static_cast<CurlTransfer*>(self);
  const bool is_public_only = transfer.request_.is_public_only;
  if (is_public_only && !is_public(address->addr)) {
    transfer.is_address_refused_ = true;
    return CURL_SOCKET_BAD;
  }
  bool is_connected = false;
  const auto fd = transfer.connections_.open(
      is_public_only ? std::string() : transfer.server(), &address->addr, address->addrlen,
      address->socktype, address->protocol, Transport::Clock::now(), is_connected);
  if (is_connected) transfer.connected_ = fd;
  return fd;
}

int CurlTransfer::on_socket(void* self, curl_socket_t fd, curlsocktype) {
  const bool is_connected = static_cast<CurlTransfer*>(self)->connected_ == fd;
  return is_connected ? CURL_SOCKOPT_ALREADY_CONNECTED : CURL_SOCKOPT_OK;
}

int CurlTransfer::close_socket(void* connections, curl_socket_t fd) {
  static_cast<SpareConnections*>(connections)->close(fd);
  return 0;
}

bool CurlTransfer::take_header(std::string_view line) {
  header_bytes_ += line.size();
  if (header_bytes_ > kMaxHeaderBytes) return false;
  while (line.ends_with('\n') || line.ends_with('\r') || line.ends_with(' ')) line.remove_suffix(1);
  // A status line begins a new answer.  An answer of a proxy, or "100 Continue", may precede it.
  if (line.starts_with("HTTP/")) {
    answer_.headers.clear();
    is_head_over_ = false;
    return true;
  }
  if (line.empty()) is_head_over_ = true;
  const auto colon = line.find(':');
  // Trailers come after the head and the body.  They say nothing about the body that was checked.
  if (is_head_over_ || colon == line.npos) return true;
  auto value = line.substr(colon + 1);
  value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
  answer_.headers.add(line.substr(0, colon), value);
  return true;
}

bool CurlTransfer::take_body(std::string_view bytes) {
  auto& body = answer_.body;
  if (body.empty()) {
    long status = 0;
    curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
    answer_.status = static_cast<int>(status);
  }
  const bool is_error = answer_.status >= 300;
  const auto most =
      is_error ? std::max(request_.max_body_bytes, kErrorBodyBytes) : request_.max_body_bytes;
  too_long_ = bytes.size() > most - body.size();
  if (too_long_) bytes = bytes.substr(0, most - body.size());
  if (request_.meter && !request_.meter->take(bytes.size())) {
    answer_.is_refused_by_meter = too_long_ = true;
    return false;
  }
  if (body.empty()) {
    curl_off_t length = 0;
    curl_easy_getinfo(easy_, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    if (length > 0) body = bodies_.take(std::min(static_cast<std::uint64_t>(length), most));
  }
  const auto added = std::as_bytes(std::span(bytes));
  body.insert(body.end(), added.begin(), added.end());
  return !too_long_;
}

Result<HttpAnswer> CurlTransfer::outcome(CURLcode code) {
  long status = 0;
  curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
  answer_.status = static_cast<int>(status);
  answer_.first_byte = time_info(easy_, CURLINFO_STARTTRANSFER_TIME_T);
  answer_.total = time_info(easy_, CURLINFO_TOTAL_TIME_T);
  answer_.body_too_long = too_long_;
  answer_.meter = request_.meter;
  const char* address = nullptr;
  curl_easy_getinfo(easy_, CURLINFO_PRIMARY_IP, &address);
  answer_.is_from_public = is_public(address);
  if (is_address_refused_) {
    return fs::refusal(EPROTO, "redirected from a public server to a private address");
  }
  if (header_bytes_ > kMaxHeaderBytes) {
    return codec::fail(Errc::bad_field, "the headers of the server's answer are too long");
  }
  if (code != CURLE_OK && !too_long_) {
    return std::unexpected(error_of(easy_, code, names_certificates_));
  }
  return std::move(answer_);
}

void CurlTransfer::finish(CURLcode code) { done_(outcome(code)); }

}  // namespace framefs::net
