// What the parts of a download share. Not for others.
#ifndef CEL_MODEL_FETCH_PRIVATE_H
#define CEL_MODEL_FETCH_PRIVATE_H

#include "model/hub/fetch.h"
#include "model/hub/hub.h"
#include "model/hub/hub_http.h"
#include "model/store.h"

typedef struct cel_fetch_job {
  const cel_fetch_options *o;
  cel_http *http;
  cel_buf endpoint, folder, partial, lock;  // folder: without slashes at its end
  cel_hub_record record;
  cel_store_origin origin;        // of what is fetched
  bool *have;                     // [n_files] it is in folder, and right
  bool partial_same;              // what lies in partial is of this commit
  bool same_commit;               // folder is of the commit that is fetched, by its own record
  cel_fetch_progress now;
} cel_fetch_job;

// ---- fetch_try.c: one address until it comes or there is no hope -------------------------------------------

// Fails after several tries without progress. Retries what is worth it, with growing pauses or those the server asks
// for; the sink is asked for the byte to go on from before each.
typedef struct cel_fetch_source {
  const char *url, *what;      // what: for messages
  int64_t expect, most;
  bool first;                  // nothing came from this hub yet: unreachable ends it at once
  int64_t (*from)(void *context);   // the byte to go on from
  cel_status (*restart)(void *context, cel_err *err);  // forget what came so far
  cel_http_sink sink;
} cel_fetch_source;
CEL_MUST_CHECK cel_status cel_fetch_try(cel_fetch_job *j, const cel_fetch_source *s, cel_err *err);

// ---- fetch_file.c ----------------------------------------------------------------------------------------------

CEL_MUST_CHECK cel_status cel_fetch_record(cel_fetch_job *j, cel_err *err);               // into j->record
CEL_MUST_CHECK cel_status cel_fetch_file(cel_fetch_job *j, const cel_hub_file *f, cel_err *err);  // into j->partial
// Bytes of the file that an earlier try left.
int64_t cel_fetch_begun(const cel_fetch_job *j, const cel_hub_file *f);

// ---- fetch_place.c ---------------------------------------------------------------------------------------------

// Is f in `dir`, and right? Of a trusted folder (this commit's, by our record) the size is enough; otherwise the
// digest decides, and a file without one is not.
bool cel_fetch_has(const char *dir, const cel_hub_file *f, bool trusted);
CEL_MUST_CHECK cel_status cel_fetch_publish(cel_fetch_job *j, cel_err *err);  // from j->partial to j->folder
CEL_MUST_CHECK cel_status cel_fetch_parents(const char *path, cel_err *err);  // makes the folders above a file
CEL_MUST_CHECK cel_status cel_fetch_sync(const char *dir, cel_err *err);      // a folder's names to disk

#endif
