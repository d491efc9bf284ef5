// Where models lie on this machine, and what a name means. Nothing is downloaded here (hub/fetch.h does that).
// Store root, first that is set: `models_dir` > MLXCEL_MODELS_DIR > ${MLXCEL_CACHE_DIR:-~/.cache/mlxcel}/models.
// Layout: ROOT/OWNER/NAME/ with .mlxcel.json, which says where the files came from; beside it NAME.partial/ while a
// download is not finished and NAME.lock while somebody works on it.
#ifndef CEL_MODEL_STORE_H
#define CEL_MODEL_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "base/str.h"

CEL_MUST_CHECK cel_status cel_store_root(const char *models_dir /* may be NULL */, cel_buf *out, cel_err *err);

// What the user typed to a path that can be opened, in this order: a path that exists; OWNER/NAME in ./models/NAME,
// the Hugging Face cache (read-only: HF_HUB_CACHE > HF_HOME/hub > ~/.cache/huggingface/hub), the store; a bare
// NAME with the owner MLXCEL_DEFAULT_ORG (default mlx-community). Fails with the accepted forms and the places
// that were looked at. A place counts when it holds a whole model (cel_store_missing).
CEL_MUST_CHECK cel_status cel_store_resolve(const char *name, const char *models_dir, cel_buf *out, cel_err *err);

// What a folder lacks to be a whole model: config.json with every shard of model.safetensors.index.json, or with one
// *.safetensors, or a *.gguf; none of them empty. True when something is missing; *what says it (may be NULL).
bool cel_store_missing(const char *dir, cel_buf *what);
// The folder of OWNER/NAME in the Hugging Face cache (its snapshot of `main`); an empty buffer when there is none.
CEL_MUST_CHECK cel_status cel_store_hub_cache(const char *owner_name, cel_buf *out, cel_err *err);

// ---- entries: store_entry.c ------------------------------------------------------------------------------

// Where an entry's files came from.
typedef struct cel_store_origin {
  char repo[200], revision[200], commit[65];
} cel_store_origin;

// False when the folder has no record or not a good one; *out is then empty.
bool cel_store_origin_read(const char *dir, cel_store_origin *out);
CEL_MUST_CHECK cel_status cel_store_origin_write(const char *dir, const cel_store_origin *origin, cel_err *err);

// One at a time works on an entry. The lock ends with the process at the latest.
typedef struct cel_store_lock {
  int fd;      // -1: not held
  char *path;
} cel_store_lock;

// Fails with CEL_BUSY, naming the process, while another one holds it.
CEL_MUST_CHECK cel_status cel_store_lock_take(const char *path, cel_store_lock *out, cel_err *err);
void cel_store_lock_drop(cel_store_lock *lock);  // removes the file; {-1, NULL} is fine

// Deletes a folder and what is in it; symbolic links are removed, never followed. Nothing there is CEL_OK.
CEL_MUST_CHECK cel_status cel_store_delete_tree(const char *path, cel_err *err);
// Deletes OWNER/NAME and what an unfinished download left of it. *removed_bytes may be NULL.
//   Fails: CEL_NOT_FOUND when the store has neither; CEL_BUSY; CEL_INVALID when OWNER is a symbolic link.
CEL_MUST_CHECK cel_status cel_store_remove(const char *root, const char *owner_name, int64_t *removed_bytes, cel_err *err);

// ---- the list: store_list.c --------------------------------------------------------------------------------

typedef struct cel_store_entry {
  char *id, *path;     // OWNER/NAME; ROOT/OWNER/NAME
  int64_t bytes;       // of all regular files
  int64_t modified;    // seconds since 1970 of the newest file; -1: no file
  bool partial;        // an unfinished download; path ends in .partial
} cel_store_entry;

typedef struct cel_store_listing {
  cel_store_entry *entries;  // sorted by id, whole ones before unfinished ones of the same id
  int n;
} cel_store_listing;

// A root that is not there gives an empty list. cel_store_listing_deinit in any case.
CEL_MUST_CHECK cel_status cel_store_list(const char *root, cel_store_listing *out, cel_err *err);
void cel_store_listing_deinit(cel_store_listing *l);
// Bytes of all regular files below, and the newest time; symbolic links do not count.
void cel_store_measure(const char *dir, int64_t *bytes, int64_t *modified);

#endif
