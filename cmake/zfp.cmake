# libzfp, which is needed only for the ZFP codecs.  Few frames use them.
#
#   FRAMEFS_ZFP   AUTO: use libzfp if it is found; ON: require libzfp; OFF: build without it
#   framefs_zfp   target to link; does not exist without libzfp

set(FRAMEFS_ZFP AUTO CACHE STRING "Decode the ZFP codecs with libzfp: AUTO, ON or OFF")
set_property(CACHE FRAMEFS_ZFP PROPERTY STRINGS AUTO ON OFF)

if(FRAMEFS_ZFP)
  # libzfp's own CMake package requires OpenMP and a C compiler from every user.  version.h exists
  # since 1.0, the version whose functions count in size_t.
  find_path(FRAMEFS_ZFP_INCLUDE_DIR zfp/version.h)
  find_library(FRAMEFS_ZFP_LIBRARY zfp)
  mark_as_advanced(FRAMEFS_ZFP_INCLUDE_DIR FRAMEFS_ZFP_LIBRARY)
  if(FRAMEFS_ZFP_INCLUDE_DIR AND FRAMEFS_ZFP_LIBRARY)
    add_library(framefs_zfp INTERFACE)
    target_include_directories(framefs_zfp SYSTEM INTERFACE ${FRAMEFS_ZFP_INCLUDE_DIR})
    target_link_libraries(framefs_zfp INTERFACE ${FRAMEFS_ZFP_LIBRARY})
  elseif(FRAMEFS_ZFP STREQUAL "AUTO")
    message(STATUS "libzfp 1.0 not found: frames with the ZFP codecs will not be read")
  else()
    message(FATAL_ERROR "FRAMEFS_ZFP is ${FRAMEFS_ZFP}, and libzfp 1.0 was not found (Debian: libzfp-dev)")
  endif()
endif()
