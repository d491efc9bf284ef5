// A model hub's side of a download: what a repository holds by its record, and which of its files a user wants.
// No network here (hub_http.h has it). What a hub says is input like any other: sizes, names and digests are
// checked before anything is done with them.
//   record:  GET {endpoint}/api/models/{repo}/revision/{revision}?blobs=true
//   files:   GET {endpoint}/{repo}/resolve/{commit}/{path}
// Threads: pure functions, but for cel_hub_endpoint, which reads the environment.
#ifndef CEL_MODEL_HUB_H
#define CEL_MODEL_HUB_H

#include <stdbool.h>
#include <stdint.h>

#include "base/sha256.h"
#include "base/status.h"
#include "base/str.h"

enum { CEL_HUB_RECORD_BYTES_MOST = 32 << 20, CEL_HUB_FILES_MOST = 20000, CEL_HUB_PATH_BYTES_MOST = 1024 };

typedef struct cel_hub_file {
  char *path;                          // relative, safe (cel_hub_safe_path)
  int64_t bytes;
  char sha256[CEL_SHA256_HEX_BYTES];   // lower case; "" for a file that is not in large file storage
  bool wanted;                         // set by cel_hub_select
} cel_hub_file;

typedef struct cel_hub_record {
  char commit[65];      // what the revision stands for: hexadecimal digits
  cel_hub_file *files;  // sorted by path
  int n_files;
} cel_hub_record;

// HF_ENDPOINT, or https://huggingface.co; no slash at its end. Refuses what is no http(s) address or holds a password.
CEL_MUST_CHECK cel_status cel_hub_endpoint(cel_buf *out, cel_err *err);
// OWNER/NAME, each part of [A-Za-z0-9._-] and not led by a dot, without ".."; a bare NAME gets the default owner
// (MLXCEL_DEFAULT_ORG, or mlx-community). NAME does not end in .partial or .lock, which the store keeps to itself.
CEL_MUST_CHECK cel_status cel_hub_repo_name(const char *typed, cel_buf *out, cel_err *err);

// A path that stays inside the folder it is joined to: not absolute, no empty, "." or ".." part, no backslash, no
// control character, no part longer than a file system takes.
bool cel_hub_safe_path(const char *path);
// Is the file one that a model consists of, by its name? GGUF files are, hidden files, texts, pictures, pickles
// and programs are not.
bool cel_hub_is_model_file(const char *path);

// Reads a record; cel_hub_record_deinit in any case. Refuses unsafe paths, paths given twice, files without a size.
CEL_MUST_CHECK cel_status cel_hub_parse(cel_str text, const char *repo, cel_hub_record *out, cel_err *err);
void cel_hub_record_deinit(cel_hub_record *r);

// Marks the files to fetch. With patterns (shell globs over the whole path, * crosses /): the files that match any
// of them; a pattern that matches nothing is an error. Without: every model file; of a repository without
// safetensors that holds several GGUF models an error lists them with their sizes.
CEL_MUST_CHECK cel_status cel_hub_select(cel_hub_record *r, const char *repo, const char *const *patterns, int n_patterns,
                                         cel_err *err);
// "OWNER/NAME:QUANT": cuts the tag off `typed` into *repo and makes the pattern for it. Without a tag *pattern is "".
void cel_hub_split_tag(const char *typed, cel_buf *repo, cel_buf *pattern);

// Adds a path to an address, escaping everything but letters, digits, "-._~" and, if `slashes`, "/".
void cel_hub_add_escaped(cel_buf *url, const char *path, bool slashes);
void cel_hub_add_size(cel_buf *out, int64_t bytes);  // 12.34 GiB, 5.6 MiB, 7.8 KiB, 9 B

#endif
