#include "src/cli/remote_access.h"

#include <fcntl.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <expected>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "fs/core/files/file.h"
#include "fs/net/store/source_url.h"
#include "src/cli/cause_text.h"
#include "src/cli/given_path.h"

namespace framefs {
namespace {

constexpr const char* kUrlOptions[] = {"--endpoint",  "--region",         "--profile",
                                       "--anonymous", "--requester-pays", "--cacert"};
constexpr auto kS3Options = std::span(kUrlOptions).first<5>();

// Returns the part of "ftp://x" before "://"; empty if `text` does not begin with a scheme.
std::string_view scheme_of(std::string_view text) {
  const auto scheme = text.substr(0, std::min(text.find("://"), text.size()));
  const bool is_scheme = scheme.size() < text.size() &&
                         std::ranges::all_of(
                             scheme,
                             [](char c) {
                               return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                                      c == '+' || c == '-' || c == '.';
                             });
  return is_scheme ? scheme : std::string_view();
}

// Returns the URL that "s3:/bucket" is meant to be; nothing if `text` is no URL of framefs even so.
std::optional<std::string> with_both_slashes(const std::string& text) {
  const auto at = text.find(":/");
  if (at == std::string::npos) return std::nullopt;
  auto url = text.substr(0, at) + "://" + text.substr(at + 2);
  return net::is_source_url(url) ? std::optional(std::move(url)) : std::nullopt;
}

// Returns the URL in the first line of a file, or what is wrong.
std::expected<std::string, std::string> url_in_file(const std::string& path) {
  constexpr std::size_t kMaxUrlBytes = 16 << 10;
  std::ifstream file(path);
  if (!file) {
    return std::unexpected(fmt::format("{}: {}", path, std::generic_category().message(errno)));
  }
  std::string url(kMaxUrlBytes, '\0');
  file.getline(url.data(), static_cast<std::streamsize>(url.size()));
  url.resize(url.find('\0'));
  while (url.ends_with(' ') || url.ends_with('\r')) url.pop_back();
  // The text of the file is not repeated in a message.
  if (!net::is_source_url(url)) {
    return std::unexpected(fmt::format(
        "the first line of {} is not a URL; a path that begins with @ is written ./@...", path));
  }
  return url;
}

CLI::Validator readable_file() {
  const auto check = [](const std::string& path) {
    const fs::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (fd) return std::string();
    return fmt::format("{}: {}", path, std::generic_category().message(errno));
  };
  return CLI::Validator(check, "");
}

CLI::Validator server_url() {
  const auto check = [](const std::string& text) {
    const auto url = net::parse_url(text);
    return url ? std::string() : std::string(url.error().field);
  };
  return CLI::Validator(check, "");
}

// How a mount reaches what a URL of another scheme names.
std::string_view way_to(std::string_view scheme) {
  if (scheme == "gs") {
    return "Google serves the bucket as s3:// too, with --endpoint https://storage.googleapis.com "
           "and HMAC keys";
  }
  if (scheme == "az" || scheme == "abfs" || scheme == "abfss") {
    return "Azure serves the container as https:// too, whose root then needs a manifest (framefs "
           "index)";
  }
  return "a URL begins with s3://, http(s):// or dav(s)://";
}

}  // namespace

void add_remote_access_options(CLI::App& app, fs::RemoteOptions& remote) {
  app.add_option("--endpoint", remote.endpoint, "An S3 server other than AWS")
      ->check(server_url())
      ->option_text("URL");
  app.add_option("--region", remote.region, "The region of an S3 bucket")->option_text("NAME");
  app.add_option("--profile", remote.profile, "A profile of ~/.aws/config")->option_text("NAME");
  auto* const anonymous =
      app.add_flag("--anonymous", remote.anonymous, "Do not sign requests to S3");
  app.add_flag("--requester-pays", remote.requester_pays,
               "Pay for requests to a bucket of S3 whose owner does not")
      ->excludes(anonymous);
  app.add_option("--cacert", remote.ca_file, "Certificates to trust instead of the system's")
      ->check(readable_file())
      ->option_text("FILE");
}

std::optional<std::string> url_problem(const std::string& source) {
  if (net::is_source_url(source)) {
    const auto url = net::parse_source_url(source);
    return url ? std::nullopt : std::optional<std::string>(url.error().field);
  }
  const auto scheme = scheme_of(source);
  const auto url = with_both_slashes(source);
  if (scheme.empty() && !url) return std::nullopt;
  // Other paths are not looked at: SOURCE may lie in a mount that nobody serves yet.
  std::error_code none;
  if (std::filesystem::exists(source, none)) return std::nullopt;
  if (url) return fmt::format("{} is no path of a file; the URL is {}", source, *url);
  return fmt::format("{}:// is not supported; {}", scheme, way_to(scheme));
}

CLI::Validator path_or_url() {
  return {[](std::string& source) {
            if (source.starts_with('@')) {
              auto url = url_in_file(source.substr(1));
              if (!url) return url.error();
              source = std::move(*url);
            }
            if (!net::is_source_url(source)) source = given_path(source);
            return url_problem(source).value_or("");
          },
          ""};
}

std::optional<std::string> first_given(const CLI::App& app, std::span<const char* const> names) {
  const auto found = std::ranges::find_if(
      names, [&app](const char* name) { return app.get_option(name)->count() > 0; });
  return found == names.end() ? std::nullopt : std::optional<std::string>(*found);
}

std::optional<std::string> misplaced_remote_option(const CLI::App& app, const std::string& source) {
  if (!net::is_source_url(source)) {
    const auto name = first_given(app, kUrlOptions);
    return name ? std::optional(*name + " needs a SOURCE that is a URL") : std::nullopt;
  }
  const auto url = net::parse_source_url(source);
  if (!url || url->kind == net::StoreKind::s3) return std::nullopt;
  const auto name = first_given(app, kS3Options);
  return name ? std::optional(*name + " needs a URL of S3, s3://BUCKET") : std::nullopt;
}

std::optional<std::string> misplaced_remote_option(const CLI::App& app,
                                                   std::span<const std::string> sources) {
  std::optional<std::string> problem;
  for (const auto& source : sources) {
    auto of_source = misplaced_remote_option(app, source);
    if (!of_source) return std::nullopt;
    // One about the kind of a URL says more than one about a path.
    if (!problem || net::is_source_url(source)) problem = std::move(of_source);
  }
  return problem;
}

bool has_url(std::span<const std::string> sources) {
  return std::ranges::any_of(sources,
                             [](const std::string& source) { return net::is_source_url(source); });
}

}  // namespace framefs
