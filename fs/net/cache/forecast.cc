#include "fs/net/cache/forecast.h"

#include <utility>

namespace framefs::net {
namespace {

// Each thread has its own value, and only scopes set it.  Hence mounts share no state through it.
thread_local Forecast forecast_of_thread = Forecast::goes_on;

}  // namespace

Forecast current_forecast() noexcept { return forecast_of_thread; }

ForecastScope::ForecastScope(Forecast forecast) noexcept
    : before_(std::exchange(forecast_of_thread, forecast)) {}

ForecastScope::~ForecastScope() { forecast_of_thread = before_; }

}  // namespace framefs::net
