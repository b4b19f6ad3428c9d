# What every target of the house has in common: language, checks, warnings.
#
#   framefs_house   interface target; linked PUBLIC, so that users of a layer see the same standard
#                   library as the layer itself
#   FRAMEFS_X86_64  whether the processor is of that architecture
#   framefs_simd_sources(TARGET)
#                   instruction sets for the files that are named after them
#   framefs_precompile(TARGET [HEADER...])
#                   what is included nearly everywhere, parsed once, where that is quicker

include(CheckCXXSourceCompiles)
include(CMakePushCheckState)

set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)  # there are none, and newer CMakes look for them in every file

add_library(framefs_house INTERFACE)
target_compile_features(framefs_house INTERFACE cxx_std_23)
target_include_directories(framefs_house INTERFACE ${PROJECT_SOURCE_DIR})
# In every build: this is what makes std::span and the containers check their indices.
target_compile_definitions(framefs_house INTERFACE _GLIBCXX_ASSERTIONS)

# Up to version 19 clang announces an older level of concepts than libstdc++ asks for before it
# declares std::expected (__cpp_concepts >= 202002L), although it compiles the header.  The check
# asks for the symptom, so this does nothing where either of the two has changed.
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
  # Not in the preset bench: at -O3, g++ 12 sees overflows and overlaps in its own containers.
  if(NOT CMAKE_BUILD_TYPE STREQUAL "Release")
    target_compile_options(framefs_house INTERFACE -Werror)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(framefs_house INTERFACE -Wcast-align=strict -Wduplicated-cond
                                                   -Wlogical-op)
    # g++ 12 takes the growth of a vector and the joining of strings for overflows and overlaps; which
    # of them it takes so depends on sanitizers, precompiled headers and the optimisation level.
    if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
      target_compile_options(framefs_house INTERFACE -Wno-array-bounds -Wno-restrict
                                                     -Wno-stringop-overflow -Wno-stringop-overread)
    endif()
  endif()
endif()

if(FRAMEFS_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "FRAMEFS_FUZZ needs clang: cmake --preset fuzz")
  endif()
  target_compile_options(framefs_house INTERFACE -fsanitize=fuzzer-no-link)
endif()

# Whether files named after an instruction set (*_avx2.cc ...) belong to this build at all.
string(TOLOWER "${CMAKE_SYSTEM_PROCESSOR}" framefs_processor)
if(framefs_processor MATCHES "^(x86_64|amd64)$")
  set(FRAMEFS_X86_64 ON)
else()
  set(FRAMEFS_X86_64 OFF)
endif()

# Gives the files of TARGET that are named after an instruction set the flags for it.  Only those:
# everything else must run on any processor of the architecture.
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

# Developers build all of it three times over.  Not where the compiler's answers are cached (ccache keeps
# none of files with a precompiled header unless told that it may), and not under clang-tidy, which so
# sees that each file includes what it uses.
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
