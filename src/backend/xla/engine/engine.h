// What runs a program. One table of functions per engine; engine.def lists them. An engine has heard of
// tensors and programs only.
//
//   driver->open ─► engine;  upload weights, make states;  compile(program, weights) ─► executable
//   execute(executable, states, inputs) ─► results, as often as needed
//
// Threads: one thread at a time per engine.
#ifndef CEL_XLA_ENGINE_ENGINE_H
#define CEL_XLA_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "backend/xla/artifact/artifact.h"
#include "backend/xla/program/program.h"

typedef struct cel_engine cel_engine;
typedef struct cel_buffer cel_buffer;          // a tensor the engine holds or borrows
typedef struct cel_executable cel_executable;  // a compiled program with its weights

typedef struct cel_engine_options {
  const char *device;     // the part of MLXCEL_XLA_DEVICE behind the engine's name; "" for its default
  const char *precision;  // MLXCEL_XLA_PRECISION; "" for the engine's default
  int n_threads;          // 0: all cores
  int n_devices;          // that run every program together; 0 or 1: one
  const char *plugin_folders, *plugin_options;  // MLXCEL_XLA_PJRT_PATH, MLXCEL_XLA_PJRT_OPTIONS; "" for none
  const char *compiler, *rocm_target;  // MLXCEL_XLA_IREE_COMPILE, MLXCEL_XLA_ROCM_TARGET; "" for none
  cel_artifact_store *artifacts;  // where compiled programs are kept, lent as long as the engine; NULL: nowhere
} cel_engine_options;

typedef struct cel_engine_description {
  const char *engine, *device, *precision, *isa;  // lent, as long as the engine
  const char *version, *target;  // of what compiles and of what it compiles for, as in the keys of artifacts; NULL: it keeps none
  int n_threads;
  int64_t arena_bytes;  // intermediates and scratch held now
} cel_engine_description;

typedef struct cel_engine_driver {
  const char *name;
  const char *summary;
  const char *const *devices;  // values of MLXCEL_XLA_DEVICE that mean this engine without its name, ended by NULL; may be NULL
  bool lazy_states;    // a state's memory appears as it is touched; elsewhere all of it is taken at once
  bool quick_compile;  // one more number of tokens costs milliseconds; elsewhere seconds
  cel_status (*probe)(cel_err *err);  // CEL_OK, or what is missing
  cel_status (*open)(const cel_engine_options *options, cel_engine **out, cel_err *err);
  void (*close)(cel_engine *engine);  // executables and buffers must be gone
  void (*describe)(const cel_engine *engine, cel_engine_description *out);
  // A tensor from host memory. `lent`: the memory outlives the buffer and does not change, so no copy is
  // needed where the engine can read it in place. No alignment is promised.
  cel_status (*upload)(cel_engine *engine, const cel_hlo_type *type, const void *host, bool lent, cel_buffer **out,
                       cel_err *err);
  // The same of a tensor that lies in n equal parts, lent. NULL where the engine wants it in one piece.
  cel_status (*upload_parts)(cel_engine *engine, const cel_hlo_type *type, const void *const *parts, int64_t n,
                             cel_buffer **out, cel_err *err);
  // The same of a tensor that the devices share in equal parts along dimension `axis`, and a zeroed state that they share;
  // without these functions all devices have all of it. NULL where the engine runs on one device only.
  cel_status (*upload_split)(cel_engine *engine, const cel_hlo_type *type, int axis, const void *host, bool lent,
                             cel_buffer **out, cel_err *err);
  cel_status (*state_split)(cel_engine *engine, const cel_hlo_type *type, int axis, cel_buffer **out, cel_err *err);
  // A zeroed tensor for a state. Where the engine can, memory appears as it is touched.
  cel_status (*state)(cel_engine *engine, const cel_hlo_type *type, cel_buffer **out, cel_err *err);
  void (*release)(cel_buffer *buffer);  // NULL is fine
  // Copies the first n entries of dimension 3 of row `from` of dimension 1 to row `to`, for a rank-5 KV state
  // [layers, rows, heads, positions, width].
  cel_status (*copy_row)(cel_buffer *state, int64_t from, int64_t to, int64_t n, cel_err *err);
  // Copies the first n entries of dimension 3 of row `row` of a state to the same row of another, which has more of them.
  // NULL where the engine has no such way.
  cel_status (*move_row)(cel_buffer *from, cel_buffer *to, int64_t row, int64_t n, cel_err *err);
  // Row `row` of dimension 1 of a rank-5 state becomes zero; memory is given back where the engine can.
  void (*forget_row)(cel_buffer *state, int64_t row);
  // weights[n_params]: the buffer of each CEL_PARAM_WEIGHT, NULL for the others. The program is lent for the
  // life of the executable. All that can fail for lack of a kernel, shape or memory fails here.
  cel_status (*compile)(cel_engine *engine, const cel_program *program, cel_buffer *const *weights,
                        cel_executable **out, cel_err *err);
  void (*discard)(cel_executable *executable);  // NULL is fine
  // states[n_params]: buffers of the states; inputs[n_params]: host memory of the inputs (dense, row-major);
  // each NULL elsewhere. results[n_results] gets host pointers, lent until the engine's next execute; NULL for
  // results that alias a state.
  cel_status (*execute)(cel_executable *executable, cel_buffer *const *states, const void *const *inputs,
                        const void **results, cel_err *err);
  // The plan in words: steps, kernels, memory. May be NULL.
  cel_status (*explain)(const cel_executable *executable, cel_buf *out, cel_err *err);
} cel_engine_driver;

// From engine.def, best first, ended by NULL.
extern const cel_engine_driver *const cel_engine_drivers[];
// Finds the driver for a MLXCEL_XLA_DEVICE value ("native", "pjrt:cpu", or a device alone, "local-task"; "" for the default)
// and the device part of it. Refuses with the list of built engines.
CEL_MUST_CHECK cel_status cel_engine_find(const char *device, const cel_engine_driver **out, const char **rest,
                                          cel_err *err);

#endif
