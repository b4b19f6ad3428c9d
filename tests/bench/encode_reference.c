/* The measurements of encode_bench.cc, made with the reference library; see there. */
#include <blosc2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CHUNK (4 << 20)

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static size_t encode_all(blosc2_context *context, const char *plain, size_t size, char *out) {
  size_t stored = 0;
  for (size_t at = 0; at < size; at += CHUNK) {
    const size_t chunk = size - at < CHUNK ? size - at : CHUNK;
    const int bytes = blosc2_compress_ctx(context, plain + at, (int32_t)chunk, out,
                                          CHUNK + BLOSC2_MAX_OVERHEAD);
    if (bytes <= 0) abort();
    stored += (size_t)bytes;
  }
  return stored;
}

int main(int argc, char **argv) {
  static const char *names[] = {"blosclz", "lz4", "lz4hc", "zlib", "zstd"};
  static const uint8_t codecs[] = {BLOSC_BLOSCLZ, BLOSC_LZ4, BLOSC_LZ4HC, BLOSC_ZLIB, BLOSC_ZSTD};
  if (argc < 3) return 2;
  FILE *file = fopen(argv[1], "rb");
  if (file == NULL) return 2;
  fseek(file, 0, SEEK_END);
  const size_t size = (size_t)ftell(file);
  rewind(file);
  char *plain = malloc(size);
  char *out = malloc(CHUNK + BLOSC2_MAX_OVERHEAD);
  if (fread(plain, 1, size, file) != size) return 2;
  fclose(file);
  blosc2_init();
  for (int c = 0; c < 5; ++c) {
    for (int level = 1; level <= 9; level += 2) {
      for (int filter = 0; filter <= 2; ++filter) {
        if (argc > 3 && strcmp(argv[3], names[c]) != 0) continue;
        if (argc > 4 && atoi(argv[4]) != level) continue;
        if (argc > 5 && atoi(argv[5]) != filter) continue;
        blosc2_cparams params = BLOSC2_CPARAMS_DEFAULTS;
        params.compcode = codecs[c];
        params.clevel = (uint8_t)level;
        params.typesize = atoi(argv[2]);
        params.nthreads = 1;
        params.filters[BLOSC2_MAX_FILTERS - 1] = (uint8_t)filter;
        blosc2_context *context = blosc2_create_cctx(params);
        const size_t stored = encode_all(context, plain, size, out);
        double best = 0;
        const double begin = now();
        do {
          const double start = now();
          encode_all(context, plain, size, out);
          const double rate = (double)size / (now() - start) / 1e6;
          if (rate > best) best = rate;
        } while (now() - begin < 0.3);
        printf("%s %d %d %.1f %zu\n", names[c], level, filter, best, stored);
        fflush(stdout);
        blosc2_free_ctx(context);
      }
    }
  }
  blosc2_destroy();
  return 0;
}
