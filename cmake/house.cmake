# What all targets share: language standard, checks, warnings.
#
#   framefs_house   interface target; linked PUBLIC, so that users of a layer see the same standard
#                   library as the layer itself
#   FRAMEFS_X86_64, FRAMEFS_ARM64
#                   whether the processor is one of these
#   framefs_simd_sources(TARGET)
#                   sets the compiler flags of files that are named after an instruction set
#   FRAMEFS_SANITIZED
#                   whether the compiler flags ask for a sanitizer
#   framefs_precompile(TARGET [HEADER...])
#                   precompiles headers that nearly every file includes, where that is faster
#   framefs_compile_alone(FILE...)
#                   exempts files from being compiled together with others
#   framefs_unoptimised_if_sanitized(TARGET)
#                   for code whose speed does not matter, and which takes long to optimise

include(CheckCXXSourceCompiles)
include(CMakePushCheckState)

set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)  # no modules here; newer CMakes scan every file

add_library(framefs_house INTERFACE)
target_compile_features(framefs_house INTERFACE cxx_std_23)
target_include_directories(framefs_house INTERFACE ${PROJECT_SOURCE_DIR})
# In every build: std::span and the containers then check their indices.
target_compile_definitions(framefs_house INTERFACE _GLIBCXX_ASSERTIONS)

# Up to version 19, clang announces an older level of concepts (__cpp_concepts) than 202002L.
# libstdc++ requires that level for std::expected, although clang compiles the header.  The check
# tests whether std::expected is usable, so it has no effect once clang or libstdc++ has changed.
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  cmake_push_check_state(RESET)
  set(CMAKE_REQUIRED_FLAGS "${CMAKE_CXX23_STANDARD_COMPILE_OPTION}")
  check_cxx_source_compiles(
    "#include <expected>
     int main() { return std::expected<int, int>(0).value(); }"
    FRAMEFS_HAVE_STD_EXPECTED)
  cmake_pop_check_state()
  if(NOT FRAMEFS_HAVE_STD_EXPECTED)
    target_compile_definitions(framefs_house INTERFACE __cpp_concepts=202002L)
    target_compile_options(framefs_house INTERFACE -Wno-builtin-macro-redefined)
  endif()
endif()

if(FRAMEFS_DEVELOPER_MODE)
  target_compile_options(
    framefs_house
    INTERFACE -Wall
              -Wextra
              -Wpedantic
              -Wconversion
              -Wsign-conversion
              -Wshadow
              -Wold-style-cast
              -Wnon-virtual-dtor
              -Wswitch-enum
              -Wundef
              -Wformat=2)
  # Not for Release builds (preset bench): at -O3, g++ 12 reports false overflows and overlaps in
  # its own containers.
  if(NOT CMAKE_BUILD_TYPE STREQUAL "Release")
    target_compile_options(framefs_house INTERFACE -Werror)
  endif()
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # clang reports the use of std::get_temporary_buffer() within the algorithms of libstdc++ 12.
    target_compile_options(framefs_house INTERFACE -Wno-deprecated-declarations)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(framefs_house INTERFACE -Wcast-align=strict -Wduplicated-cond
                                                   -Wlogical-op)
    # g++ reports false overflows and overlaps where a vector grows or strings are joined.  Which
    # ones it reports depends on its version (12 and 14 were seen), sanitizers, precompiled headers
    # and the optimisation level.
    target_compile_options(framefs_house INTERFACE -Wno-array-bounds -Wno-restrict
                                                   -Wno-stringop-overflow -Wno-stringop-overread)
    if(CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
      target_compile_options(framefs_house INTERFACE -Wno-free-nonheap-object)
    endif()
  endif()
endif()

if(FRAMEFS_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "FRAMEFS_FUZZ needs clang: cmake --preset fuzz")
  endif()
  target_compile_options(framefs_house INTERFACE -fsanitize=fuzzer-no-link)
endif()

if("${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_RELWITHDEBINFO}" MATCHES "-fsanitize=")
  set(FRAMEFS_SANITIZED ON)
else()
  set(FRAMEFS_SANITIZED OFF)
endif()

# Whether this build includes files that are named after an instruction set (*_avx2.cc ...).
string(TOLOWER "${CMAKE_SYSTEM_PROCESSOR}" framefs_processor)
if(framefs_processor MATCHES "^(x86_64|amd64)$")
  set(FRAMEFS_X86_64 ON)
else()
  set(FRAMEFS_X86_64 OFF)
endif()
# Big-endian arm64 has another order of lanes, and no Linux distribution.
if(framefs_processor MATCHES "^(aarch64|arm64)$")
  set(FRAMEFS_ARM64 ON)
else()
  set(FRAMEFS_ARM64 OFF)
endif()

# Sets the compiler flags for the files of TARGET that are named after an instruction set.  All
# other files must run on any processor of the architecture.
function(framefs_simd_sources target)
  set(flags_avx2 -mavx2)
  set(flags_gfni -mavx2 -mgfni)
  set(flags_avx512 -mavx2 -mavx512f -mavx512bw -mavx512vl -mavx512vbmi)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    if(source MATCHES "_(avx2|gfni|avx512)\\.cc$")
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS ${flags_${CMAKE_MATCH_1}})
    endif()
  endforeach()
endfunction()

# A developer builds everything three times, so headers are precompiled.  There are two exceptions.
# With a compiler cache: by default, ccache does not cache files with a precompiled header.  Under
# clang-tidy: it then checks that each file includes the headers that it uses.
function(framefs_precompile target)
  if(FRAMEFS_DEVELOPER_MODE
     AND NOT CMAKE_CXX_COMPILER_LAUNCHER
     AND NOT CMAKE_CXX_CLANG_TIDY)
    target_precompile_headers(
      ${target}
      PRIVATE
      ${ARGN}
      <algorithm>
      <array>
      <cstdint>
      <expected>
      <functional>
      <map>
      <memory>
      <optional>
      <span>
      <string>
      <string_view>
      <unordered_map>
      <utility>
      <vector>)
  endif()
endfunction()

# The presets compile several files of a library as one (CMAKE_UNITY_BUILD): the compiler then reads
# the headers and emits what they define once for all of them, which takes a third of the time.
# These files are compiled alone: their local names mean other things in other files.
function(framefs_compile_alone)
  set_property(SOURCE ${ARGN} PROPERTY SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# The compiler spends three quarters of its time on the optimisation of the checks that sanitizers
# insert.
function(framefs_unoptimised_if_sanitized target)
  if(FRAMEFS_SANITIZED)
    target_compile_options(${target} PRIVATE -O0)
  endif()
endfunction()
