#include "codec/filter/kernel_functions.h"
#include "codec/filter/vectors_avx2.h"

namespace framefs::codec {

// The sums within a vector do not depend on earlier vectors, so that the dependency between vectors
// is a single addition.
void prefix_sum_avx2(std::byte* data, std::size_t size) {
  const __m256i last = _mm256_set1_epi8(15);
  __m256i before = _mm256_setzero_si256();  // the sum of all bytes so far, in every byte
  std::size_t at = 0;
  for (; size - at >= sizeof(__m256i); at += sizeof(__m256i)) {
    __m256i v = load(data + at);
    v = _mm256_add_epi8(v, _mm256_slli_si256(v, 1));
    v = _mm256_add_epi8(v, _mm256_slli_si256(v, 2));
    v = _mm256_add_epi8(v, _mm256_slli_si256(v, 4));
    v = _mm256_add_epi8(v, _mm256_slli_si256(v, 8));
    // Each 128-bit lane has its own sums; the upper lane lacks the sum of the lower one.
    const __m256i sums = _mm256_shuffle_epi8(v, last);
    const __m256i swapped = _mm256_permute2x128_si256(sums, sums, 0x01);
    const __m256i to_upper = _mm256_permute2x128_si256(sums, sums, 0x08);
    store(data + at, _mm256_add_epi8(_mm256_add_epi8(v, to_upper), before));
    before = _mm256_add_epi8(before, _mm256_add_epi8(sums, swapped));
  }
  auto sum = static_cast<unsigned char>(_mm256_extract_epi8(before, 0));
  for (; at < size; ++at) {
    sum = static_cast<unsigned char>(sum + static_cast<unsigned char>(data[at]));
    data[at] = static_cast<std::byte>(sum);
  }
}

}  // namespace framefs::codec
