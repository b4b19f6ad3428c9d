#pragma once

// Debian 12 packages Catch2 2.13; newer systems have 3.x, with headers in another place.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif
