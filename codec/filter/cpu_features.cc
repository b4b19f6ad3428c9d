#include "codec/filter/cpu_features.h"

namespace framefs::codec {

CpuFeatures detect_cpu_features() noexcept {
  // The compiler's check also asks whether the system saves the registers.  The CPUID bits alone do
  // not tell.
  __builtin_cpu_init();
  CpuFeatures features;
  features.avx2 = __builtin_cpu_supports("avx2") != 0;
  features.gfni = features.avx2 && __builtin_cpu_supports("gfni") != 0;
  features.avx512 = features.avx2 && __builtin_cpu_supports("avx512f") != 0 &&
                    __builtin_cpu_supports("avx512bw") != 0 &&
                    __builtin_cpu_supports("avx512vl") != 0 &&
                    __builtin_cpu_supports("avx512vbmi") != 0;
  return features;
}

}  // namespace framefs::codec
