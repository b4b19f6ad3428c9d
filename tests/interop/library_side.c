/* The reference library's side of the interoperation test.  scripts/interop runs it on a system
   that has the library.

     library_side FOLDER SEED

   Opens every frame in FOLDER (NAME.b2frame, a file or a folder) and compares its content with
   NAME.plain: chunk by chunk, in random slices, and the vl-metalayer "head" with the first bytes.
   Then makes a random change to the frame and the same change to NAME.plain, opens the frame again,
   and compares again.  Arrays (NAMEa.b2nd) are compared as a whole and in a slice. */
#include <b2nd.h>
#include <blosc2.h>
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLICES 12

static const char *current;  /* frame */
static const char *stage;    /* the current step */

#define DEMAND(rule, ...)                                  \
  do {                                                     \
    if (!(rule)) {                                         \
      fprintf(stderr, "%s, %s: %s: ", current, stage, #rule); \
      fprintf(stderr, __VA_ARGS__);                        \
      fputc('\n', stderr);                                 \
      return -1;                                           \
    }                                                      \
  } while (0)

static uint64_t state;
static uint32_t below(uint32_t limit) {
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (uint32_t)(state >> 33) % limit;
}

static uint8_t *load(const char *path, int64_t *size) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) return NULL;
  fseek(file, 0, SEEK_END);
  *size = ftell(file);
  rewind(file);
  /* Room for appended bytes. */
  uint8_t *bytes = malloc((size_t)*size + (4 << 20));
  const size_t got = fread(bytes, 1, (size_t)*size, file);
  fclose(file);
  return (int64_t)got == *size ? bytes : NULL;
}

static int save(const char *path, const uint8_t *bytes, int64_t size) {
  FILE *file = fopen(path, "wb");
  DEMAND(file != NULL, "%s", path);
  const size_t put = fwrite(bytes, 1, (size_t)size, file);
  DEMAND(fclose(file) == 0 && (int64_t)put == size, "%s", path);
  return 0;
}

/* Whether a slice of these bytes triggers errors of the library (3.3.5), which occur in its own
   frames too.  A part that is as long as a block, or as the last block, but spans two blocks, gives
   wrong bytes.  A chunk with a dictionary gives no bytes. */
static int is_faulty(blosc2_schunk *schunk, int64_t begin, int64_t end) {
  const int64_t chunksize = schunk->chunksize;
  for (int64_t chunk = begin / chunksize; chunk * chunksize < end; ++chunk) {
    uint8_t *lazy = NULL;
    bool needs_free = false;
    int32_t nbytes = 0;
    int32_t blocksize = 1;
    if (blosc2_schunk_get_lazychunk(schunk, chunk, &lazy, &needs_free) < 0) return 0;
    blosc2_cbuffer_sizes(lazy, &nbytes, NULL, &blocksize);
    const int has_dictionary = (lazy[31] & 1) != 0;
    if (needs_free) free(lazy);
    const int64_t from = begin > chunk * chunksize ? begin : chunk * chunksize;
    const int64_t to = end < (chunk + 1) * chunksize ? end : (chunk + 1) * chunksize;
    if (has_dictionary || to - from == blocksize || to - from == nbytes % blocksize) return 1;
  }
  return 0;
}

static int compare(blosc2_schunk *schunk, const uint8_t *plain, int64_t size) {
  DEMAND(schunk->nbytes == size, "%lld for %lld", (long long)schunk->nbytes, (long long)size);
  const int32_t chunksize = schunk->chunksize;
  uint8_t *out = malloc((size_t)(chunksize > 0 ? chunksize : 1) + (4 << 20));
  int64_t at = 0;
  for (int64_t chunk = 0; chunk < schunk->nchunks; ++chunk) {
    memset(out, 0xee, (size_t)(chunksize > 0 ? chunksize : 1));
    const int got = blosc2_schunk_decompress_chunk(schunk, chunk, out, chunksize + (4 << 20));
    DEMAND(got >= 0, "chunk %lld gives %d", (long long)chunk, got);
    DEMAND(at + got <= size && memcmp(out, plain + at, (size_t)got) == 0, "chunk %lld", (long long)chunk);
    at += got;
  }
  DEMAND(at == size, "%lld for %lld", (long long)at, (long long)size);
  free(out);

  const int64_t items = size / schunk->typesize;
  uint8_t *slice = malloc((size_t)size + 1);
  for (int i = 0; i < SLICES && items > 0; ++i) {
    const int64_t start = below((uint32_t)items);
    const int64_t stop = start + 1 + below((uint32_t)(items - start));
    if (is_faulty(schunk, start * schunk->typesize, stop * schunk->typesize)) continue;
    const int done = blosc2_schunk_get_slice_buffer(schunk, start, stop, slice);
    DEMAND(done >= 0, "slice %lld..%lld gives %d", (long long)start, (long long)stop, done);
    DEMAND(memcmp(slice, plain + start * schunk->typesize,
                  (size_t)((stop - start) * schunk->typesize)) == 0,
           "slice %lld..%lld", (long long)start, (long long)stop);
  }
  free(slice);
  return 0;
}

static int compare_head(blosc2_schunk *schunk, const uint8_t *plain, int64_t size) {
  if (blosc2_vlmeta_exists(schunk, "head") < 0) return 0;
  uint8_t *content = NULL;
  int32_t length = 0;
  DEMAND(blosc2_vlmeta_get(schunk, "head", &content, &length) >= 0, "vlmeta");
  const int64_t expected = size < 1000 ? size : 1000;
  DEMAND(length == expected && memcmp(content, plain, (size_t)length) == 0, "%d bytes", (int)length);
  free(content);
  return 0;
}

/* Makes a chunk of the bytes, as large as `room` at most.  Gives 0 if the library (3.3.5) could not
   read the chunk: it is memcpyed and has the flag of a dictionary (codec/ERRATA.md). */
static int make_chunk(blosc2_schunk *schunk, const uint8_t *bytes, int32_t size, uint8_t *chunk,
                      int32_t room) {
  const int made = blosc2_compress_ctx(schunk->cctx, bytes, size, chunk, room);
  const int is_memcpyed = made > 31 && (chunk[2] & 2) != 0;
  return is_memcpyed && (chunk[31] & 1) != 0 ? 0 : made;
}

/* Appends, updates or deletes a chunk, or changes the vl-metalayers. */
static int change(blosc2_schunk *schunk, uint8_t *plain, int64_t *size) {
  uint8_t fresh[1 << 16];
  uint8_t chunk[sizeof fresh + BLOSC2_MAX_OVERHEAD];
  for (size_t i = 0; i < sizeof fresh; ++i) fresh[i] = (uint8_t)(below(3) ? i / 9 : below(256));
  const char *name = "added later";
  const int32_t chunksize = schunk->chunksize;
  const int whole = chunksize > 0 && *size % chunksize == 0;
  switch (below(4)) {
    case 0: /* append; only if the last chunk is full, or the frame would change its kind */
      if (!whole || chunksize > (int32_t)sizeof fresh) break;
      if (make_chunk(schunk, fresh, chunksize, chunk, sizeof chunk) == 0) break;
      DEMAND(blosc2_schunk_append_buffer(schunk, fresh, chunksize) > 0, "append");
      memcpy(plain + *size, fresh, (size_t)chunksize);
      *size += chunksize;
      return 0;
    case 1: { /* update any chunk except a short last one */
      const int64_t full = chunksize > 0 ? *size / chunksize : 0;
      if (full == 0 || chunksize > (int32_t)sizeof fresh) break;
      const int64_t at = below((uint32_t)full);
      const int bytes = make_chunk(schunk, fresh, chunksize, chunk, sizeof chunk);
      if (bytes == 0) break;
      DEMAND(bytes > 0, "compress gives %d", bytes);
      DEMAND(blosc2_schunk_update_chunk(schunk, at, chunk, true) >= 0, "update");
      memcpy(plain + at * chunksize, fresh, (size_t)chunksize);
      return 0;
    }
    case 2: { /* delete a full chunk, but never the only one */
      const int64_t full = chunksize > 0 ? *size / chunksize : 0;
      if (full < 2 || !whole) break;
      const int64_t at = below((uint32_t)full);
      DEMAND(blosc2_schunk_delete_chunk(schunk, at) >= 0, "delete");
      memmove(plain + at * chunksize, plain + (at + 1) * chunksize,
              (size_t)(*size - (at + 1) * chunksize));
      *size -= chunksize;
      return 0;
    }
    default:
      break;
  }
  DEMAND(blosc2_vlmeta_add(schunk, name, fresh, 5000, NULL) >= 0, "add");
  DEMAND(blosc2_vlmeta_update(schunk, name, fresh, 77, NULL) >= 0, "update");
  return 0;
}

static int try_frame(const char *folder, const char *name) {
  char frame[4096];
  char plain_path[4096];
  snprintf(frame, sizeof frame, "%s/%s.b2frame", folder, name);
  snprintf(plain_path, sizeof plain_path, "%s/%s.plain", folder, name);
  current = name;
  stage = "as written";
  int64_t size = 0;
  uint8_t *plain = load(plain_path, &size);
  DEMAND(plain != NULL, "%s", plain_path);
  uint8_t *original = malloc((size_t)size + 1);
  memcpy(original, plain, (size_t)size);
  const int64_t original_size = size;

  blosc2_schunk *schunk = blosc2_schunk_open(frame);
  DEMAND(schunk != NULL, "open");
  if (compare(schunk, plain, size) < 0 || compare_head(schunk, plain, size) < 0) return -1;
  stage = "being changed";
  if (change(schunk, plain, &size) < 0) return -1;
  blosc2_schunk_free(schunk);
  if (save(plain_path, plain, size) < 0) return -1;

  stage = "after the change";
  schunk = blosc2_schunk_open(frame);
  DEMAND(schunk != NULL, "open");
  if (compare(schunk, plain, size) < 0) return -1;
  if (compare_head(schunk, original, original_size) < 0) return -1;
  blosc2_schunk_free(schunk);
  free(original);
  free(plain);
  return 0;
}

static int try_array(const char *folder, const char *name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s.plain", folder, name);
  current = name;
  stage = "as an array";
  int64_t size = 0;
  uint8_t *plain = load(path, &size);
  DEMAND(plain != NULL, "%s", path);
  snprintf(path, sizeof path, "%s/%s.b2nd", folder, name);
  b2nd_array_t *array = NULL;
  DEMAND(b2nd_open(path, &array) >= 0, "open");
  const int64_t bytes = array->nitems * array->sc->typesize;
  DEMAND(bytes == size, "%lld for %lld", (long long)bytes, (long long)size);
  uint8_t *out = malloc((size_t)size + 1);
  DEMAND(b2nd_to_cbuffer(array, out, size) >= 0, "to_cbuffer");
  DEMAND(memcmp(out, plain, (size_t)size) == 0, "whole");
  if (array->ndim > 0 && size > 0) {
    int64_t start[B2ND_MAX_DIM];
    int64_t stop[B2ND_MAX_DIM];
    int64_t shape[B2ND_MAX_DIM];
    int64_t items = 1;
    for (int d = 0; d < array->ndim; ++d) {
      start[d] = below((uint32_t)array->shape[d]);
      stop[d] = start[d] + 1 + below((uint32_t)(array->shape[d] - start[d]));
      shape[d] = stop[d] - start[d];
      items *= shape[d];
    }
    /* The first and the last item show whether the slice has the right position. */
    const int32_t typesize = array->sc->typesize;
    DEMAND(b2nd_get_slice_cbuffer(array, start, stop, out, shape, items * typesize) >= 0, "slice");
    int64_t first = 0;
    int64_t last = 0;
    for (int d = 0; d < array->ndim; ++d) {
      first = first * array->shape[d] + start[d];
      last = last * array->shape[d] + stop[d] - 1;
    }
    DEMAND(memcmp(out, plain + first * typesize, (size_t)typesize) == 0, "first item");
    DEMAND(memcmp(out + (items - 1) * typesize, plain + last * typesize, (size_t)typesize) == 0,
           "last item");
  }
  free(out);
  free(plain);
  b2nd_free(array);
  return 0;
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  state = strtoull(argv[2], NULL, 10);
  blosc2_init();
  DIR *folder = opendir(argv[1]);
  if (folder == NULL) return 2;
  int tried = 0;
  int failed = 0;
  for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
    char *suffix = strstr(entry->d_name, ".plain");
    if (suffix == NULL) continue;
    *suffix = 0;
    char name[256];
    snprintf(name, sizeof name, "%s", entry->d_name);
    ++tried;
    const int is_array = name[strlen(name) - 1] == 'a';
    if ((is_array ? try_array(argv[1], name) : try_frame(argv[1], name)) < 0) ++failed;
  }
  closedir(folder);
  blosc2_destroy();
  printf("the library (%s) read and changed %d frames, %d of them wrongly\n",
         BLOSC2_VERSION_STRING, tried, failed);
  return failed == 0 && tried > 0 ? 0 : 1;
}
