#pragma once

namespace framefs::codec {

// Instruction sets that both the CPU and the operating system support.
struct CpuFeatures {
  bool avx2 = false;
  bool gfni = false;    // for 256-bit vectors
  bool avx512 = false;  // F, BW, VL and VBMI
};

// Threads: any.  x86-64 only.
CpuFeatures detect_cpu_features() noexcept;

}  // namespace framefs::codec
