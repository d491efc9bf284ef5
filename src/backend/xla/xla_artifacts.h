// Where compiled programs of a model are kept: the store shared by all runs, or a folder made ahead for one model
// (`mlxcel compile`), which has a manifest that says what it was compiled for.
#ifndef CEL_XLA_ARTIFACTS_H
#define CEL_XLA_ARTIFACTS_H

#include "backend/xla/artifact/artifact.h"
#include "backend/xla/xla_model.h"
#include "backend/xla/xla_options.h"

// ${MLXCEL_CACHE_DIR:-~/.cache/mlxcel}/artifacts; false where neither that nor HOME is set, or memory is out.
bool cel_xla_artifact_folder(cel_buf *out);

// Ahead of opening the engine: opens the store the options ask for into m->artifacts, NULL for none.
CEL_MUST_CHECK cel_status cel_xla_open_artifacts(cel_xla_model *m, const cel_load_options *o, const cel_xla_options *x,
                                                 cel_err *err);
// Behind it, ahead of anything that depends on them: takes the sizes a folder was compiled for where the options leave them
// open, and refuses a folder that was compiled for something else, naming both. With CEL_ARTIFACT_REBUILD such a folder is
// emptied instead and *make is set; with CEL_ARTIFACT_MAKE always.
CEL_MUST_CHECK cel_status cel_xla_settle_artifacts(cel_xla_model *m, const cel_load_options *o, bool *make, cel_err *err);
// Compiles all programs that sessions of this model will ask for, and writes the manifest.
CEL_MUST_CHECK cel_status cel_xla_make_artifacts(cel_xla_model *m, const cel_load_options *o, cel_err *err);

#endif
