// The file of one entry: 512 bytes of header, then the payload. All numbers little-endian.
//
//    0  magic      "mlxcelA\n"
//    8  u32        version of the format, 1
//   12  u32        bytes of the header, 512
//   16  u64        bytes of the payload
//   24  i64        when it was made, seconds since 1970
//   32  [32]       key
//   64  [32]       SHA-256 of the payload
//   96  [48]       engine, zero-padded, as the texts that follow
//  144  [112]      version of what compiled it
//  256  [96]       target
//  352  [128]      note
//  480  [32]       SHA-256 of the 480 bytes before
#ifndef CEL_XLA_ARTIFACT_ARTIFACT_FILE_H
#define CEL_XLA_ARTIFACT_ARTIFACT_FILE_H

#include "backend/xla/artifact/artifact.h"

enum { CEL_ARTIFACT_HEADER_BYTES = 512, CEL_ARTIFACT_VERSION = 1, CEL_ARTIFACT_WRONG_BYTES = 160 };
#define CEL_ARTIFACT_SUFFIX ".artifact"

typedef struct cel_artifact_header {
  int64_t payload_bytes, created_s;
  uint8_t key[CEL_SHA256_BYTES], digest[CEL_SHA256_BYTES];
  char engine[48], version[112], target[96], note[128];
} cel_artifact_header;

// Reads and checks the header at the head of a file of `file_bytes`. False with the reason in `wrong`.
bool cel_artifact_read_header(const uint8_t *bytes, int64_t file_bytes, cel_artifact_header *out,
                              char wrong[CEL_ARTIFACT_WRONG_BYTES]);
// Also the payload, and that it is the entry of `key` (NULL: any).
bool cel_artifact_check(const uint8_t *bytes, int64_t file_bytes, const char *key, cel_artifact_header *out,
                        char wrong[CEL_ARTIFACT_WRONG_BYTES]);
// Writes header and payload to `path`.partial, flushes and renames. `header` needs no digest and size yet.
CEL_MUST_CHECK cel_status cel_artifact_write(const char *folder, const char *name, const cel_artifact_header *header,
                                             const void *payload, int64_t n, cel_err *err);
void cel_artifact_hex(const uint8_t digest[CEL_SHA256_BYTES], char out[CEL_SHA256_HEX_BYTES]);

// Takes the lock of an entry, waiting for it where `wait`. -1 with errno: no lock.
int cel_artifact_lock(const char *folder, const char *key, bool wait);
// Lets it go and removes its file.
void cel_artifact_unlock(const char *folder, const char *key, int lock);
// Removes the least recently used entries until the rest has no more than `limit` bytes; `keep` (a file's name) stays.
void cel_artifact_evict(const char *folder, int64_t limit, const char *keep);

#endif
