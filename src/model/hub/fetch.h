// Downloads a model's files from a hub into a folder: into PARTIAL first, each file under a hidden name until its
// size and (where the hub's record has one) its SHA-256 are right, then flushed to disk and moved into place. What
// an interrupted download leaves is gone on with by the next one. Threads: one download at a time per folder, held
// up by a lock; several in one process must be of different folders.
#ifndef CEL_MODEL_FETCH_H
#define CEL_MODEL_FETCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

typedef struct cel_fetch_progress {
  const char *path;              // of the file at work
  int file, n_files;             // its number from 1; files to fetch
  int64_t file_done, file_bytes;
  int64_t done, total;           // bytes of all files to fetch
  bool file_ended;               // the last word on this file
} cel_fetch_progress;

typedef struct cel_fetch_watch {
  bool (*progress)(void *context, const cel_fetch_progress *now);  // false: stop with CEL_CANCELLED
  void (*note)(void *context, const char *text);                   // a retry, and why
  void *context;
} cel_fetch_watch;

typedef struct cel_fetch_options {
  const char *repo;              // OWNER/NAME (cel_hub_repo_name)
  const char *revision;          // NULL: main
  const char *token;             // NULL: none
  const char *folder;            // where the model goes
  const char *const *patterns;   // shell globs over paths; n_patterns 0: the files of a model (cel_hub_select)
  int n_patterns;
  bool in_place;                 // folder is the user's own: files are added to it, and none of another content is
                                 // replaced. Otherwise it is an entry of the store and appears whole.
  bool force;                    // fetches all files anew and replaces what is there
  int stall_s;                   // seconds without a byte that count as a cut connection; 0: 60
  const cel_fetch_watch *watch;
} cel_fetch_options;

typedef struct cel_fetch_result {
  int n_files, n_fetched;        // wanted; fetched now (the rest was there)
  int64_t bytes, bytes_fetched;
  char commit[65];
} cel_fetch_result;

//   Fails: CEL_NOT_FOUND     no such repository, revision or file
//          CEL_INVALID       the folder holds another revision; a choice is needed (several GGUF models)
//          CEL_BUSY          another process downloads into this folder
//          CEL_MALFORMED     the hub's record or a file's size or digest is wrong
//          CEL_CANCELLED     watch->progress said so
//          CEL_IO            network, disk
// After CEL_CANCELLED and CEL_IO the next call goes on where this one stopped.
CEL_MUST_CHECK cel_status cel_fetch(const cel_fetch_options *o, cel_fetch_result *out, cel_err *err);

#endif
