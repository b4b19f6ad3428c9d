#pragma once

namespace framefs::codec {

// What the CPU and the operating system together let a program use.
struct CpuFeatures {
  bool avx2 = false;
  bool gfni = false;    // on 256-bit vectors
  bool avx512 = false;  // F, BW, VL and VBMI
};

// Threads: any.  x86-64 only.
CpuFeatures detect_cpu_features() noexcept;

}  // namespace framefs::codec
