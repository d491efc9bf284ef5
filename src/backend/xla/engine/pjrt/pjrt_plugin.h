// A PJRT plugin, found, loaded and asked for its device. What the plugin says in an error is carried up whole.
//
//   cel_pjrt_find("cuda", "", &path) ─► cel_pjrt_open(path, options) ─► api, client, device ─► cel_pjrt_close
//
// Threads: one at a time per cel_pjrt. A library once loaded stays: the plugins start threads of their own and none
// of them can be unloaded.
#ifndef CEL_XLA_ENGINE_PJRT_PJRT_PLUGIN_H
#define CEL_XLA_ENGINE_PJRT_PJRT_PLUGIN_H

#include "backend/xla/engine/pjrt/pjrt_abi.h"
#include "backend/xla/artifact/artifact.h"
#include "base/status.h"
#include "base/str.h"

enum { CEL_PJRT_NAME_BYTES = 64, CEL_PJRT_VERSION_BYTES = 112, CEL_PJRT_TARGET_BYTES = 96, CEL_PJRT_PARTS_MOST = 64 };

typedef struct cel_pjrt {
  const cel_pjrt_api *api;
  cel_pjrt_client *client;
  cel_pjrt_device *const *devices;  // the addressable ones, the client's
  size_t n_devices;
  size_t n_parts;  // of these, how many run every program together: the first ones
  char platform[CEL_PJRT_NAME_BYTES];  // the plugin's word: "cpu", "cuda", ...
  // For the keys of compiled programs: which build of which plugin, and what its programs run on.
  char version[CEL_PJRT_VERSION_BYTES], target[CEL_PJRT_TARGET_BYTES];
  cel_artifact_store *artifacts;  // set by whoever has one; lent; NULL: programs are not kept
} cel_pjrt;

#define CEL_PJRT_HEAD(type, last) \
  { CEL_PJRT_SIZE(type, last), NULL }

// `name`: a name of plugin.def, or the path of a library (anything with a '/'), or "" for the first plugin that is
// there. Looked for in `folders` (parted by ':', in which the wheels' packages lie: MLXCEL_XLA_PJRT_PATH), the active
// virtual environment, the user's and the system's Python packages. CEL_NOT_FOUND names all that was looked through.
CEL_MUST_CHECK cel_status cel_pjrt_find(const char *name, const char *folders, cel_buf *path, cel_err *err);

// `parts`: how many devices run every program together; fails where there are fewer.
// `options`: "name=value,..." given to the plugin when its client is made; values that look like whole numbers, true,
// false or decimal numbers are given as such. "" for none.
CEL_MUST_CHECK cel_status cel_pjrt_open(const char *path, const char *options, int parts, cel_pjrt *out, cel_err *err);
void cel_pjrt_close(cel_pjrt *p);  // a zeroed one is fine

// Turns an error of the plugin into ours, "what: text", and lets it go. NULL: CEL_OK.
CEL_MUST_CHECK cel_status cel_pjrt_check(const cel_pjrt *p, cel_pjrt_error *error, const char *what, cel_err *err);
// Lets go of an error nobody can do anything about: releasing failed.
void cel_pjrt_ignore(const cel_pjrt *p, cel_pjrt_error *error);
// Waits for an event, and lets it go. NULL: CEL_OK.
CEL_MUST_CHECK cel_status cel_pjrt_wait(const cel_pjrt *p, cel_pjrt_event *event, const char *what, cel_err *err);

#endif
