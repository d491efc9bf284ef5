// Where models lie on this machine, and what a name means. Nothing is downloaded here.
// Store root, first that is set: `models_dir` > MLXCEL_MODELS_DIR > ${MLXCEL_CACHE_DIR:-~/.cache/mlxcel}/models.
// Layout: ROOT/OWNER/NAME/.
#ifndef CEL_MODEL_STORE_H
#define CEL_MODEL_STORE_H

#include "base/status.h"
#include "base/str.h"

CEL_MUST_CHECK cel_status cel_store_root(const char *models_dir /* may be NULL */, cel_buf *out, cel_err *err);

// What the user typed to a path that can be opened, in this order: a path that exists; OWNER/NAME in ./models/NAME,
// the Hugging Face cache (read-only: HF_HUB_CACHE > HF_HOME/hub > ~/.cache/huggingface/hub), the store; a bare
// NAME with the owner MLXCEL_DEFAULT_ORG (default mlx-community). Fails with the accepted forms and the places
// that were looked at.
CEL_MUST_CHECK cel_status cel_store_resolve(const char *name, const char *models_dir, cel_buf *out, cel_err *err);

#endif
