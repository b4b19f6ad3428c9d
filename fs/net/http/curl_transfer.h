#pragma once

#include <memory>
#include <string>
#include <utility>

#include <curl/curl.h>

#include "fs/net/http/body_pool.h"
#include "fs/net/http/http_message.h"
#include "fs/net/http/spare_connections.h"
#include "fs/net/http/transport.h"
#include "fs/net/network_options.h"

namespace framefs::net {

// One request on its way through libcurl.
// Threads: the network thread alone.  Lifetime: it must not move, because libcurl points into it.
class CurlTransfer {
 public:
  // `easy` is a free handle of the network thread.  Lifetime: `bodies` outlives the transfer, and
  // `connections` the connection that the transfer may have opened.
  CurlTransfer(CURL* easy, Transport::Ticket ticket, HttpRequest request, Transport::Done done,
               BodyPool& bodies, SpareConnections& connections);
  CurlTransfer(const CurlTransfer&) = delete;
  CurlTransfer& operator=(const CurlTransfer&) = delete;
  ~CurlTransfer();

  // Sets the handle up.  Lifetime: `options` outlives the transfer.
  void prepare(const NetworkOptions& options);
  // Hands the outcome to the caller's `done`.
  void finish(CURLcode code);

  [[nodiscard]] CURL* easy() const { return easy_; }
  [[nodiscard]] Transport::Ticket ticket() const { return ticket_; }
  [[nodiscard]] const HttpRequest& request() const { return request_; }
  // The server of the request, as a name for its connections.
  [[nodiscard]] std::string server() const {
    return request_.url.scheme + "://" + request_.url.authority();
  }

 private:
  static std::size_t on_header(char* bytes, std::size_t size, std::size_t count, void* self);
  static std::size_t on_body(char* bytes, std::size_t size, std::size_t count, void* self);
  static curl_socket_t open_socket(void* self, curlsocktype purpose, curl_sockaddr* address);
  static int on_socket(void* self, curl_socket_t fd, curlsocktype purpose);
  static int close_socket(void* connections, curl_socket_t fd);
  [[nodiscard]] bool take_header(std::string_view line);
  [[nodiscard]] bool take_body(std::string_view bytes);
  void set_method();
  void set_headers(const NetworkOptions& options);
  Result<HttpAnswer> outcome(CURLcode code);

  CURL* const easy_;
  const Transport::Ticket ticket_;
  const HttpRequest request_;
  const Transport::Done done_;
  BodyPool& bodies_;
  SpareConnections& connections_;
  curl_slist* header_list_ = nullptr;
  std::string url_;
  HttpAnswer answer_;
  bool too_long_ = false;
  std::size_t header_bytes_ = 0;
  bool is_head_over_ = false;
  bool is_address_refused_ = false;
  curl_socket_t connected_ = CURL_SOCKET_BAD;  // a spare connection that the transfer has taken
  bool names_certificates_ = false;
};

}  // namespace framefs::net
