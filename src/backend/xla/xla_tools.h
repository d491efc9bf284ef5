// What the command line needs of the OpenXLA path besides sessions: emitting, running and explaining modules.
#ifndef CEL_XLA_TOOLS_H
#define CEL_XLA_TOOLS_H

#include "arch/arch.h"
#include "backend/xla/artifact/artifact.h"
#include "backend/xla/emit/emit.h"
#include "base/str.h"
#include "model/checkpoint.h"

// The text of an entry point of a model.
CEL_MUST_CHECK cel_status cel_xla_tool_emit(const cel_arch *arch, const cel_checkpoint *checkpoint,
                                            const cel_emit_options *options, cel_buf *out, cel_err *err);
// An argument or a result of an emitted function.
typedef struct cel_xla_value {
  const char *kind;   // "weight", "input", "state", "result"
  const char *name;   // the checkpoint's name of a weight, the walk's word for others, of a result "logits" or its state's name
  const char *type;   // "tensor<4x2xbf16>"
  const char *dtype;  // the word of safetensors for its elements: "BF16"
  int rank;
  const int64_t *dims;
  int64_t bytes;
  int donated;        // a state: the result that is its new value; others: -1
} cel_xla_value;
// The same text, with what the function takes and gives, in order.
CEL_MUST_CHECK cel_status cel_xla_tool_describe(const cel_arch *arch, const cel_checkpoint *checkpoint,
                                                const cel_emit_options *options, cel_buf *out,
                                                void (*value)(void *context, const cel_xla_value *v), void *context, cel_err *err);
// The native engine's plan of an entry point, in words.
CEL_MUST_CHECK cel_status cel_xla_tool_explain(const cel_arch *arch, const cel_checkpoint *checkpoint,
                                               const cel_emit_options *options, int n_threads, cel_buf *out,
                                               cel_err *err);

// An argument of a function to run: an array in NumPy's words ("<f4", its bytes), or one value for all
// elements (dtype "").
typedef struct cel_xla_argument {
  const char *dtype;
  int rank;
  const int64_t *dims;
  const void *data;
  int64_t bytes;
  double splat;
} cel_xla_argument;

// Runs a function of StableHLO text by the reference evaluator and appends its results as typed literals, one
// line each ("tensor<2xf32> = [1.5, 2]"). `entry` may be NULL.
CEL_MUST_CHECK cel_status cel_xla_tool_run(cel_str text, const char *name, const char *entry,
                                           const cel_xla_argument *arguments, int n, cel_buf *out, cel_err *err);

// Runs the checks of every program in the text; appends a line per failure or refusal. *failed counts failures.
typedef struct cel_xla_check_counts {
  int64_t passed, failed, refused;
} cel_xla_check_counts;
CEL_MUST_CHECK cel_status cel_xla_tool_check(cel_str text, const char *name, cel_xla_check_counts *counts, cel_buf *out,
                                             cel_err *err);

// ---- the store of compiled programs ----------------------------------------------------------------------

typedef cel_artifact_info cel_xla_cache_entry;
// The folder of the store; false where there is none (neither MLXCEL_CACHE_DIR nor HOME is set).
bool cel_xla_tool_cache_folder(cel_buf *out);
// As cel_artifact_each and cel_artifact_clear.
CEL_MUST_CHECK cel_status cel_xla_tool_cache(const char *folder, bool whole,
                                             void (*entry)(void *context, const cel_xla_cache_entry *e), void *context,
                                             cel_err *err);
CEL_MUST_CHECK cel_status cel_xla_tool_cache_clear(const char *folder, int64_t *n, int64_t *bytes, cel_err *err);

#endif
