// Compiled programs kept between runs: bytes in, bytes out, whatever the engine. One folder, one file per entry, named by
// the digest of everything the bytes depend on.
//
//   cel_artifact a;
//   CEL_TRY(cel_artifact_begin(store, &what, &a, err));    waits while another process makes the same entry
//   if (a.bytes && !engine_loads(a.bytes, a.n)) cel_artifact_reject(&a);
//   if (!a.bytes) { compile; cel_artifact_put(&a, made, n); }
//   cel_artifact_end(&a);
//
// Entries appear whole or not at all: they are written under another name, flushed, and renamed. One that is damaged is
// noticed by its digests and made anew. A folder that cannot be written to, or a full disk, costs one warning, and the
// program goes on without the store. docs/artifacts.md has the format.
//
// Threads: a store may be used by one thread at a time; any number of stores and processes share a folder.
#ifndef CEL_XLA_ARTIFACT_ARTIFACT_H
#define CEL_XLA_ARTIFACT_ARTIFACT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/file.h"
#include "base/sha256.h"
#include "base/status.h"
#include "base/str.h"

typedef struct cel_artifact_store cel_artifact_store;

// What compiled bytes depend on. The texts also go into the entry, for `mlxcel xla cache list`.
typedef struct cel_artifact_parts {
  cel_str program;      // the module's text
  const char *engine;   // "pjrt"
  const char *version;  // of what compiles: another one makes other entries
  const char *flags;    // that were given to it
  const char *target;   // the kind of device and processor the bytes run on
  const char *note;     // a word for people, no part of the key
} cel_artifact_parts;

// SHA-256 over the parts, each with its length, as 64 hexadecimal digits.
void cel_artifact_key(const cel_artifact_parts *parts, char out[CEL_SHA256_HEX_BYTES]);

typedef struct cel_artifact_options {
  const char *folder;   // copied; made when the first entry is written
  int64_t limit_bytes;  // of all entries together: the least recently used go. 0: no limit
  bool only;            // entries are looked up, none is made: what is missing is an error
} cel_artifact_options;

CEL_MUST_CHECK cel_status cel_artifact_open(const cel_artifact_options *options, cel_artifact_store **out, cel_err *err);
void cel_artifact_close(cel_artifact_store *store);  // NULL is fine

typedef struct cel_artifact {
  const uint8_t *bytes;  // [n], aligned to 64, lent until cel_artifact_end; NULL: there is no entry yet
  int64_t n;
  // Private.
  cel_artifact_store *store;
  cel_map map;
  int lock;      // a file that is locked, -1: none
  bool damaged;  // and that was said
  char key[CEL_SHA256_HEX_BYTES];
  char engine[48], version[112], target[96], note[128];
} cel_artifact;

// Looks for the entry. A store of NULL has none and takes none.
// Fails: CEL_NOT_FOUND where the store was opened with `only` and has no whole entry. *out is then empty.
CEL_MUST_CHECK cel_status cel_artifact_begin(cel_artifact_store *store, const cel_artifact_parts *parts, cel_artifact *out,
                                             cel_err *err);
// The engine cannot use the bytes that were found: they are forgotten, and the entry is to be made.
// Fails as cel_artifact_begin does.
CEL_MUST_CHECK cel_status cel_artifact_reject(cel_artifact *a, const char *why, cel_err *err);
// Stores what was made. Not being able to is no error.
void cel_artifact_put(cel_artifact *a, const void *bytes, int64_t n);
void cel_artifact_end(cel_artifact *a);  // a zeroed one is fine

typedef struct cel_artifact_counts {
  int64_t found, made, kept;  // since the store was opened: looked up, made anew, and of these written
} cel_artifact_counts;
void cel_artifact_count(const cel_artifact_store *store, cel_artifact_counts *out);

// ---- looking after a folder --------------------------------------------------------------------------

typedef struct cel_artifact_info {
  const char *file;   // its name in the folder
  const char *wrong;  // NULL: whole; else what is wrong with it
  int64_t bytes;      // of the file
  int64_t created_s, used_s;  // seconds since 1970
  const char *key, *engine, *version, *target, *note;  // "" where the header cannot be read
} cel_artifact_info;

// Every entry, in the order of their names. `whole`: payloads are read and compared with their digests; otherwise the
// headers alone. A folder that is not there has none.
CEL_MUST_CHECK cel_status cel_artifact_each(const char *folder, bool whole,
                                            void (*entry)(void *context, const cel_artifact_info *info), void *context,
                                            cel_err *err);
// Removes every entry and what interrupted runs left; entries that are being made stay. *n and *bytes: removed.
CEL_MUST_CHECK cel_status cel_artifact_clear(const char *folder, int64_t *n, int64_t *bytes, cel_err *err);

#endif
