// Reading, checking and writing the file of an entry.
#define _POSIX_C_SOURCE 200809L
#include "backend/xla/artifact/artifact_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

static const char magic[8] = "mlxcelA\n";

enum {
  AT_VERSION = 8, AT_HEADER_BYTES = 12, AT_PAYLOAD_BYTES = 16, AT_CREATED = 24, AT_KEY = 32, AT_DIGEST = 64,
  AT_ENGINE = 96, AT_COMPILER = 144, AT_TARGET = 256, AT_NOTE = 352, AT_SELF = 480,
};
_Static_assert(AT_COMPILER - AT_ENGINE == sizeof((cel_artifact_header){0}.engine) &&
                   AT_TARGET - AT_COMPILER == sizeof((cel_artifact_header){0}.version) &&
                   AT_NOTE - AT_TARGET == sizeof((cel_artifact_header){0}.target) &&
                   AT_SELF - AT_NOTE == sizeof((cel_artifact_header){0}.note) &&
                   AT_SELF + CEL_SHA256_BYTES == CEL_ARTIFACT_HEADER_BYTES,
               "the header's texts lie where the format has them");

static void put(uint8_t *p, uint64_t x, int bytes) {
  for (int i = 0; i < bytes; i++) p[i] = (uint8_t)(x >> 8 * i);
}

static uint64_t get(const uint8_t *p, int bytes) {
  uint64_t x = 0;
  for (int i = 0; i < bytes; i++) x |= (uint64_t)p[i] << 8 * i;
  return x;
}

static void digest_of(const void *p, int64_t n, uint8_t out[CEL_SHA256_BYTES]) {
  cel_sha256 s;
  cel_sha256_init(&s);
  cel_sha256_add(&s, p, (size_t)n);
  cel_sha256_end(&s, out);
}

void cel_artifact_hex(const uint8_t digest[CEL_SHA256_BYTES], char out[CEL_SHA256_HEX_BYTES]) {
  static const char digits[] = "0123456789abcdef";
  for (int i = 0; i < CEL_SHA256_BYTES; i++) {
    out[2 * i] = digits[digest[i] >> 4];
    out[2 * i + 1] = digits[digest[i] & 15];
  }
  out[2 * CEL_SHA256_BYTES] = 0;
}

static bool is_wrong(char wrong[CEL_ARTIFACT_WRONG_BYTES], const char *what) {
  snprintf(wrong, CEL_ARTIFACT_WRONG_BYTES, "%s", what);
  return false;
}

// Of a padded text; the header's digest says that it is what was written.
static void get_text(char *out, const uint8_t *p, size_t bytes) {
  memcpy(out, p, bytes);
  out[bytes - 1] = 0;
}

bool cel_artifact_read_header(const uint8_t *p, int64_t file_bytes, cel_artifact_header *h,
                              char wrong[CEL_ARTIFACT_WRONG_BYTES]) {
  uint8_t self[CEL_SHA256_BYTES];
  *h = (cel_artifact_header){0};
  if (file_bytes < CEL_ARTIFACT_HEADER_BYTES) return is_wrong(wrong, "shorter than a header");
  if (memcmp(p, magic, sizeof magic) != 0) return is_wrong(wrong, "no artifact: the first bytes are others");
  if (get(p + AT_VERSION, 4) != CEL_ARTIFACT_VERSION) return is_wrong(wrong, "of another version of the format");
  digest_of(p, AT_SELF, self);
  if (get(p + AT_HEADER_BYTES, 4) != CEL_ARTIFACT_HEADER_BYTES || memcmp(self, p + AT_SELF, sizeof self) != 0) {
    return is_wrong(wrong, "the header does not have its digest");
  }
  uint64_t n = get(p + AT_PAYLOAD_BYTES, 8);
  if (n != (uint64_t)(file_bytes - CEL_ARTIFACT_HEADER_BYTES)) {
    snprintf(wrong, CEL_ARTIFACT_WRONG_BYTES, "%lld bytes of payload, the header says %llu",
             (long long)(file_bytes - CEL_ARTIFACT_HEADER_BYTES), (unsigned long long)n);
    return false;
  }
  h->payload_bytes = (int64_t)n;
  h->created_s = (int64_t)get(p + AT_CREATED, 8);
  memcpy(h->key, p + AT_KEY, sizeof h->key);
  memcpy(h->digest, p + AT_DIGEST, sizeof h->digest);
  get_text(h->engine, p + AT_ENGINE, sizeof h->engine);
  get_text(h->version, p + AT_COMPILER, sizeof h->version);
  get_text(h->target, p + AT_TARGET, sizeof h->target);
  get_text(h->note, p + AT_NOTE, sizeof h->note);
  return true;
}

bool cel_artifact_check(const uint8_t *p, int64_t file_bytes, const char *key, cel_artifact_header *h,
                        char wrong[CEL_ARTIFACT_WRONG_BYTES]) {
  uint8_t digest[CEL_SHA256_BYTES];
  char hex[CEL_SHA256_HEX_BYTES];
  if (!cel_artifact_read_header(p, file_bytes, h, wrong)) return false;
  cel_artifact_hex(h->key, hex);
  if (key && strcmp(hex, key) != 0) return is_wrong(wrong, "the entry of another key");
  digest_of(p + CEL_ARTIFACT_HEADER_BYTES, h->payload_bytes, digest);
  if (memcmp(digest, h->digest, sizeof digest) != 0) return is_wrong(wrong, "the payload does not have its digest");
  return true;
}

// ---- writing -----------------------------------------------------------------------------------------

static void put_text(uint8_t *p, const char *text, size_t bytes) {
  size_t n = strlen(text);
  memcpy(p, text, CEL_MIN(n, bytes - 1));
}

static void build_header(uint8_t p[CEL_ARTIFACT_HEADER_BYTES], const cel_artifact_header *h, const void *payload, int64_t n) {
  memset(p, 0, CEL_ARTIFACT_HEADER_BYTES);
  memcpy(p, magic, sizeof magic);
  put(p + AT_VERSION, CEL_ARTIFACT_VERSION, 4);
  put(p + AT_HEADER_BYTES, CEL_ARTIFACT_HEADER_BYTES, 4);
  put(p + AT_PAYLOAD_BYTES, (uint64_t)n, 8);
  put(p + AT_CREATED, (uint64_t)h->created_s, 8);
  memcpy(p + AT_KEY, h->key, sizeof h->key);
  digest_of(payload, n, p + AT_DIGEST);
  put_text(p + AT_ENGINE, h->engine, sizeof h->engine);
  put_text(p + AT_COMPILER, h->version, sizeof h->version);
  put_text(p + AT_TARGET, h->target, sizeof h->target);
  put_text(p + AT_NOTE, h->note, sizeof h->note);
  digest_of(p, AT_SELF, p + AT_SELF);
}

static bool write_all(int fd, const void *data, int64_t n) {
  for (const char *p = data; n > 0;) {
    ssize_t done = write(fd, p, (size_t)n);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    p += done;
    n -= done;
  }
  return true;
}

// The rename must survive a power cut too. Where folders cannot be flushed, the digest is what is left.
static void flush_folder(const char *folder) {
  int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  (void)fsync(fd);
  close(fd);
}

static cel_status cannot(const char *path, cel_err *err) { return cel_fail(err, CEL_IO, "%s: %s", path, strerror(errno)); }

static cel_status write_partial(const char *path, const uint8_t *header, const void *payload, int64_t n, cel_err *err) {
  int fd = cel_file_anew(path);
  if (fd < 0) return cannot(path, err);
  bool ok = write_all(fd, header, CEL_ARTIFACT_HEADER_BYTES) && write_all(fd, payload, n) && fsync(fd) == 0;
  cel_status s = ok ? CEL_OK : cannot(path, err);
  if (close(fd) != 0 && s == CEL_OK) s = cannot(path, err);
  return s;
}

cel_status cel_artifact_write(const char *folder, const char *name, const cel_artifact_header *header, const void *payload,
                              int64_t n, cel_err *err) {
  uint8_t head[CEL_ARTIFACT_HEADER_BYTES];
  cel_buf path = {0}, partial = {0};
  build_header(head, header, payload, n);
  cel_buf_printf(&path, "%s/%s", folder, name);
  cel_buf_printf(&partial, "%s/%s.partial", folder, name);
  cel_status s = path.failed || partial.failed ? cel_fail_oom(err, "a file name") : write_partial(partial.p, head, payload, n, err);
  if (s == CEL_OK && rename(partial.p, path.p) != 0) s = cannot(path.p, err);
  if (s == CEL_OK) flush_folder(folder);
  else if (partial.p) unlink(partial.p);
  cel_buf_deinit(&path);
  cel_buf_deinit(&partial);
  return s;
}
