/* The reference library's side of scripts/interop --decode; decode.cc states what it prints.

     library_decode FOLDER

   Each frame is decoded in a process of its own, because a damaged frame may end it: then the last
   line of the frame is "NAME crash" with the signal. */
#include <blosc2.h>
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_CHUNKS 32
#define MAX_CHUNK_BYTES (1 << 20)
#define LIMIT_S 10

static uint64_t hash_of(const uint8_t *bytes, int64_t size) {
  uint64_t hash = 0xcbf29ce484222325ULL;
  for (int64_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * 0x100000001b3ULL;
  return hash;
}

static void decode_chunk(blosc2_schunk *schunk, int64_t number, const char *name) {
  uint8_t *chunk = NULL;
  bool needs_free = false;
  const int cbytes = blosc2_schunk_get_chunk(schunk, number, &chunk, &needs_free);
  int32_t nbytes = 0;
  if (cbytes < 0 || blosc2_cbuffer_sizes(chunk, &nbytes, NULL, NULL) < 0) {
    printf("%s %lld get_chunk gives %d\n", name, (long long)number, cbytes);
  } else if (nbytes > MAX_CHUNK_BYTES) {
    printf("%s %lld too large for the test\n", name, (long long)number);
  } else {
    uint8_t *plain = calloc(1, (size_t)nbytes + 1);
    const int got = blosc2_schunk_decompress_chunk(schunk, number, plain, nbytes);
    if (got < 0) {
      printf("%s %lld decompress_chunk gives %d\n", name, (long long)number, got);
    } else {
      printf("%s %lld %d %016llx\n", name, (long long)number, got,
             (unsigned long long)hash_of(plain, got));
    }
    free(plain);
  }
  if (needs_free) free(chunk);
}

static void decode_frame(const char *path, const char *name) {
  blosc2_schunk *schunk = blosc2_schunk_open(path);
  if (schunk == NULL) {
    printf("%s frame cannot be opened\n", name);
    return;
  }
  printf("%s frame ok\n", name);
  for (int64_t number = 0; number < schunk->nchunks && number < MAX_CHUNKS; ++number) {
    decode_chunk(schunk, number, name);
    fflush(stdout);
  }
  blosc2_schunk_free(schunk);
}

static void decode_in_child(const char *path, const char *name) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(LIMIT_S);
    blosc2_init();
    decode_frame(path, name);
    fflush(stdout);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) printf("%s crash %s\n", name, WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "exit");
  fflush(stdout);
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  struct dirent **entries = NULL;
  const int count = scandir(argv[1], &entries, NULL, alphasort);
  for (int i = 0; i < count; ++i) {
    const char *suffix = strrchr(entries[i]->d_name, '.');
    if (suffix == NULL || strcmp(suffix, ".b2frame") != 0) continue;
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", argv[1], entries[i]->d_name);
    decode_in_child(path, entries[i]->d_name);
  }
  return count > 0 ? 0 : 1;
}
