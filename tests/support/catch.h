#pragma once

// Catch2 2.13 is what Debian 12 packages; newer systems have 3.x, whose headers lie elsewhere.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif
