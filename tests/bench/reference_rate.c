/* reference_rate: the decoding and encoding speed of the reference library, without a filesystem.
   tests/bench/reference.py, not CMake, builds it with a separate copy of the library, and runs it.

     reference_rate decode FRAME               all chunks, one thread, the frame in memory
     reference_rate slices PIECE LIST FRAME    PIECE bytes at each of LIST's offsets, from the file
     reference_rate boxes LIST ARRAY           each of LIST's boxes of an array of three dimensions
     reference_rate encode THREADS CODEC LEVEL TYPESIZE FILTER CHUNK TIMES FILE
                                               the same as framefs_encode_rate

   LIST holds 64-bit offsets in the machine's byte order; a box is its start and its end.  Prints
   {"bytes", "reads", "wall_s", "cpu_s"} as JSON, like the other programs in this folder. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include <b2nd.h>
#include <blosc2.h>

static double wall_begin, cpu_begin;

static void fail(const char* what) {
  fprintf(stderr, "reference_rate: %s\n", what);
  exit(1);
}

static double wall_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double cpu_seconds(void) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

static void start(void) {
  wall_begin = wall_seconds();
  cpu_begin = cpu_seconds();
}

static void print(long long bytes, long long reads) {
  printf("{\"bytes\": %lld, \"reads\": %lld, \"wall_s\": %.6f, \"cpu_s\": %.6f}\n", bytes, reads,
         wall_seconds() - wall_begin, cpu_seconds() - cpu_begin);
}

static void* whole_file(const char* path, size_t* size) {
  FILE* file = fopen(path, "rb");
  if (file == NULL || fseek(file, 0, SEEK_END) != 0) fail(path);
  *size = (size_t)ftell(file);
  rewind(file);
  void* bytes = malloc(*size + 1);
  if (bytes == NULL || fread(bytes, 1, *size, file) != *size) fail(path);
  fclose(file);
  return bytes;
}

static void decode(const char* path) {
  size_t size;
  uint8_t* bytes = whole_file(path, &size);
  blosc2_schunk* schunk = blosc2_schunk_from_buffer(bytes, (int64_t)size, false);
  if (schunk == NULL) fail("cannot open the frame");
  blosc2_dparams params = BLOSC2_DPARAMS_DEFAULTS;
  params.nthreads = 1;
  params.schunk = schunk;
  blosc2_context* context = blosc2_create_dctx(params);
  void* out = malloc((size_t)schunk->chunksize);
  memset(out, 1, (size_t)schunk->chunksize);
  long long decoded = 0;
  start();
  for (int64_t i = 0; i < schunk->nchunks; ++i) {
    uint8_t* chunk;
    bool needs_free;
    int cbytes = blosc2_schunk_get_chunk(schunk, i, &chunk, &needs_free);
    if (cbytes < 0) fail("cannot get a chunk");
    int got = blosc2_decompress_ctx(context, chunk, cbytes, out, schunk->chunksize);
    if (got < 0) fail("cannot decode a chunk");
    decoded += got;
    if (needs_free) free(chunk);
  }
  print(decoded, schunk->nchunks);
}

static void slices(int64_t piece, const char* list, const char* path) {
  size_t size;
  int64_t* offsets = whole_file(list, &size);
  blosc2_schunk* schunk = blosc2_schunk_open(path);
  if (schunk == NULL) fail("cannot open the frame");
  void* out = malloc((size_t)piece);
  memset(out, 1, (size_t)piece);
  long long count = (long long)(size / sizeof(int64_t));
  start();
  for (long long i = 0; i < count; ++i) {
    int64_t begin = offsets[i] / schunk->typesize;
    int64_t end = (offsets[i] + piece) / schunk->typesize;
    if (blosc2_schunk_get_slice_buffer(schunk, begin, end, out) < 0) fail("cannot read a slice");
  }
  print(count * piece, count);
}

static void boxes(char* list, char* path) {
  enum { dims = 3 };
  size_t size;
  int64_t* ends = whole_file(list, &size);
  b2nd_array_t* array;
  if (b2nd_open(path, &array) < 0 || array->ndim != dims) fail("cannot open the array");
  const int64_t item = array->sc->typesize;
  long long bytes = 0, count = (long long)(size / sizeof(int64_t) / (2 * dims));
  start();
  for (long long i = 0; i < count; ++i) {
    const int64_t *begin = ends + i * 2 * dims, *end = begin + dims;
    int64_t shape[dims], items = 1;
    for (int d = 0; d < dims; ++d) items *= shape[d] = end[d] - begin[d];
    void* out = malloc((size_t)(items * item));
    if (b2nd_get_slice_cbuffer(array, begin, end, out, shape, items * item) < 0) fail("cannot read a box");
    free(out);
    bytes += items * item;
  }
  print(bytes, count);
}

static void encode(char** argv) {
  size_t size;
  const uint8_t* plain = whole_file(argv[9], &size);
  const size_t chunksize = (size_t)atoll(argv[7]);
  blosc2_cparams params = BLOSC2_CPARAMS_DEFAULTS;
  params.nthreads = (int16_t)atoi(argv[2]);
  const int codec = blosc2_compname_to_compcode(argv[3]);
  if (codec < 0) fail("no such codec");
  params.compcode = (uint8_t)codec;
  params.clevel = (uint8_t)atoi(argv[4]);
  params.typesize = atoi(argv[5]);
  params.filters[BLOSC2_MAX_FILTERS - 1] = (uint8_t)atoi(argv[6]);
  blosc2_context* context = blosc2_create_cctx(params);
  const int32_t most = (int32_t)chunksize + BLOSC2_MAX_OVERHEAD;
  void* out = malloc((size_t)most);
  memset(out, 1, (size_t)most);
  long long encoded = 0, chunks = 0;
  start();
  for (long long time = atoll(argv[8]); time > 0; --time) {
    for (size_t at = 0; at < size; at += chunksize, ++chunks) {
      const size_t part = size - at < chunksize ? size - at : chunksize;
      if (blosc2_compress_ctx(context, plain + at, (int32_t)part, out, most) <= 0) fail("cannot encode a chunk");
      encoded += (long long)part;
    }
  }
  print(encoded, chunks);
}

int main(int argc, char** argv) {
  blosc2_init();
  if (argc == 3 && strcmp(argv[1], "decode") == 0) {
    decode(argv[2]);
  } else if (argc == 5 && strcmp(argv[1], "slices") == 0) {
    slices(atoll(argv[2]), argv[3], argv[4]);
  } else if (argc == 4 && strcmp(argv[1], "boxes") == 0) {
    boxes(argv[2], argv[3]);
  } else if (argc == 10 && strcmp(argv[1], "encode") == 0) {
    encode(argv);
  } else {
    fail("see the first lines of its source for its arguments");
  }
  return 0;
}
