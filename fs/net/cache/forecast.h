#pragma once

#include <cstdint>

namespace framefs::net {

// How the reader for which a thread works will go on.  The ranges that it reads of an object do not
// show it: the blocks of a slice of an array are adjacent in the object, and the next slice is
// elsewhere.
enum class Forecast : std::uint8_t {
  unknown,  // a few reads of adjacent bytes, one after the other, show a sequential reader
  goes_on,  // the reader is sequential
  jumps     // the reader is not sequential, whatever it reads
};

// The forecast of the calling thread; `goes_on` if no ForecastScope has set one.  It is a property
// of the thread, because objects are read below interfaces that know of no readers, such as
// ByteSource.
[[nodiscard]] Forecast current_forecast() noexcept;

// Sets current_forecast() until it is destroyed.
class ForecastScope {
 public:
  explicit ForecastScope(Forecast forecast) noexcept;
  ForecastScope(const ForecastScope&) = delete;
  ForecastScope& operator=(const ForecastScope&) = delete;
  ~ForecastScope();

 private:
  const Forecast before_;
};

}  // namespace framefs::net
