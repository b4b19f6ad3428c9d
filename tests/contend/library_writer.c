/* A program that changes frames with the reference library, for scripts/contend and scripts/interop.

     library_writer

   Takes commands from standard input and answers each with a line, "ok" or a cause:

     append FRAME WRITER SERIAL    appends a chunk of records, SERIAL being the first one's
     update FRAME WRITER SERIAL    makes chunk WRITER the record of SERIAL, repeated
     vlmeta FRAME WRITER SERIAL    sets the vl-metalayer "writerWRITER" to SERIAL
     read FRAME WRITER SERIAL      decodes all chunks and checks that they consist of records

   With BLOSC_LOCKING=1 in the environment, the library uses lock files, and frames stay open from
   one command to the next.  Otherwise each command opens its frame anew.

   A record is "WRITER SERIAL " and a letter, repeated, as in tests/e2e/contention.py. */
#include <blosc2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECORD 512
#define MOST_FRAMES 64

static struct {
  char path[1024];
  blosc2_schunk *schunk;
} frames[MOST_FRAMES];
static int is_locking;

static blosc2_schunk *open_frame(const char *path) {
  if (!is_locking) return blosc2_schunk_open(path);
  for (int i = 0; i < MOST_FRAMES; ++i) {
    if (frames[i].schunk == NULL) {
      frames[i].schunk = blosc2_schunk_open(path);
      snprintf(frames[i].path, sizeof frames[i].path, "%s", path);
      return frames[i].schunk;
    }
    if (strcmp(frames[i].path, path) == 0) return frames[i].schunk;
  }
  return NULL;
}

static void close_frame(blosc2_schunk *schunk) {
  if (!is_locking) blosc2_schunk_free(schunk);
}

static void fill_record(uint8_t *out, int writer, int serial) {
  const int length = snprintf((char *)out, RECORD, "%d %d ", writer, serial);
  memset(out + length, 33 + (writer * 31 + serial) % 90, (size_t)(RECORD - length));
}

static const char *check_records(const uint8_t *bytes, int32_t size) {
  if (size % RECORD != 0) return "a chunk is not of whole records";
  for (int32_t at = 0; at < size; at += RECORD) {
    int writer = 0;
    int serial = 0;
    uint8_t expected[RECORD + 1];
    if (sscanf((const char *)bytes + at, "%d %d ", &writer, &serial) != 2) return "no record";
    fill_record(expected, writer, serial);
    if (memcmp(bytes + at, expected, RECORD) != 0) return "a torn record";
  }
  return NULL;
}

static const char *read_all(blosc2_schunk *schunk) {
  uint8_t *out = malloc((size_t)schunk->chunksize + 1);
  const char *wrong = NULL;
  /* The number of chunks is the one that the library knows after its first access. */
  for (int64_t i = 0; wrong == NULL && i < schunk->nchunks; ++i) {
    const int got = blosc2_schunk_decompress_chunk(schunk, i, out, schunk->chunksize);
    if (got < 0) {
      wrong = "a chunk cannot be read";
    } else {
      out[got] = 0;
      wrong = check_records(out, got);
    }
  }
  free(out);
  return wrong;
}

static const char *run(const char *command, const char *path, int writer, int serial) {
  blosc2_schunk *schunk = open_frame(path);
  if (schunk == NULL) return "open fails";
  const int32_t chunksize = schunk->chunksize;
  uint8_t *plain = malloc((size_t)chunksize);
  const int is_update = strcmp(command, "update") == 0;
  for (int32_t i = 0; i < chunksize / RECORD; ++i) {
    fill_record(plain + i * RECORD, writer, is_update ? serial : serial + i);
  }
  const char *wrong = NULL;
  if (strcmp(command, "append") == 0) {
    if (blosc2_schunk_append_buffer(schunk, plain, chunksize) < 0) wrong = "append fails";
  } else if (is_update) {
    uint8_t *chunk = malloc((size_t)chunksize + BLOSC2_MAX_OVERHEAD);
    const int bytes = blosc2_compress_ctx(schunk->cctx, plain, chunksize, chunk,
                                          chunksize + BLOSC2_MAX_OVERHEAD);
    if (bytes <= 0 || blosc2_schunk_update_chunk(schunk, writer, chunk, true) < 0) {
      wrong = "update fails";
    }
    free(chunk);
  } else if (strcmp(command, "vlmeta") == 0) {
    char name[32];
    char text[32];
    /* With lock files, the library (3.3.5) writes vl-metalayers with the sizes that it knew of the
       frame before it had the lock: it destroys what others appended, also by itself.  Hence the
       lock is taken first, and the handle is refreshed under it. */
    if (is_locking && (blosc2_schunk_lock(schunk) < 0 || blosc2_schunk_refresh(schunk) < 0)) {
      return "lock fails";
    }
    snprintf(name, sizeof name, "writer%d", writer);
    const int length = snprintf(text, sizeof text, "%d", serial);
    const int is_there = blosc2_vlmeta_exists(schunk, name) >= 0;
    const int done = is_there ? blosc2_vlmeta_update(schunk, name, (uint8_t *)text, length, NULL)
                              : blosc2_vlmeta_add(schunk, name, (uint8_t *)text, length, NULL);
    if (done < 0) wrong = "vlmeta fails";
    if (is_locking && blosc2_schunk_unlock(schunk) < 0) wrong = "unlock fails";
  } else {
    wrong = read_all(schunk);
  }
  free(plain);
  close_frame(schunk);
  return wrong;
}

int main(void) {
  char command[16];
  char path[1024];
  int writer = 0;
  int serial = 0;
  const char *locking = getenv("BLOSC_LOCKING");
  is_locking = locking != NULL && strcmp(locking, "1") == 0;
  blosc2_init();
  while (scanf("%15s %1023s %d %d", command, path, &writer, &serial) == 4) {
    const char *wrong = run(command, path, writer, serial);
    puts(wrong == NULL ? "ok" : wrong);
    fflush(stdout);
  }
  blosc2_destroy();
  return 0;
}
