// Models: opened from a folder, a GGUF file or a name, and described.
//
// Option structs of this library begin with `struct_size` and are filled by their init function, so that programs
// go on working when a later version adds fields:
//
//   mlxcel_model_options options;
//   mlxcel_model_options_init(&options, sizeof options);
//   options.max_sessions = 4;
//
// Lifetime: a model stays alive until it and everything made from it (sessions, generators, detokenizers) are closed,
// in any order.
// Threads: one opens; a model may then be read by any number of threads (text.h, the functions here). Its sessions
// are another matter: see session.h.
// Environment: MLXCEL_BACKEND, MLXCEL_MODELS_DIR and the other variables that `mlxcel env` lists are read while a
// model is opened. Nothing is printed, and one global is kept: weight files stay mapped, and so that one cut short
// meanwhile gives MLXCEL_IO from whatever runs next, and not the end of the process, the first model that is opened sets
// a SIGBUS handler. It passes on what it does not know to the one before it; a program that sets its own later should do so too.
#ifndef MLXCEL_MODEL_H
#define MLXCEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mlxcel/errors.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mlxcel_model mlxcel_model;

enum { MLXCEL_MAX_THREADS = 256, MLXCEL_MAX_SESSIONS = 4096, MLXCEL_MAX_PREFILL_CHUNK = 65536 };

typedef struct mlxcel_model_options {
  size_t struct_size;      // set by init
  const char *backend;     // name; NULL: MLXCEL_BACKEND, or the best that runs here
  const char *models_dir;  // the model store; NULL: MLXCEL_MODELS_DIR, or ~/.cache/mlxcel/models
  int64_t context;         // most tokens of one session; 0: the model's own limit
  int32_t threads;         // of the engine, up to MLXCEL_MAX_THREADS; 0: all cores
  int32_t max_sessions;    // open at once, up to MLXCEL_MAX_SESSIONS; 1 unless said otherwise
  int32_t prefill_chunk;   // prompt tokens per run, up to MLXCEL_MAX_PREFILL_CHUNK; 0: the backend's choice
  bool files_only;         // tokenizer, template and description, but no backend: nothing can be run
  // Called now and then while weights come in, on the calling thread; may be NULL. Returning false cancels.
  bool (*progress)(void *progress_context, double fraction);
  void *progress_context;
  // A low-rank adapter (LoRA) beside the weights: the name of one that the model carries itself ("speech", "vision"
  // of Phi-4-multimodal), or a folder as PEFT or mlx-lm write it; NULL: none.
  const char *adapter;
} mlxcel_model_options;

MLXCEL_API void mlxcel_model_options_init(mlxcel_model_options *options, size_t struct_size);

// `name`: path of a folder with config.json and *.safetensors, path of a GGUF file, OWNER/NAME or NAME in the
// store. `options` may be NULL. *out belongs to the caller: mlxcel_model_close.
//   Fails: NOT_FOUND with the places looked at; UNSUPPORTED names family, format or backend; MALFORMED names file,
//          field and value; CANCELLED by progress; INVALID, TOO_LONG, IO, OOM, ENGINE.
MLXCEL_API MLXCEL_MUST_CHECK mlxcel_status mlxcel_model_open(const char *name, const mlxcel_model_options *options,
                                                             mlxcel_model **out, mlxcel_error *error);
MLXCEL_API void mlxcel_model_close(mlxcel_model *model);  // NULL is fine

// Made by the library alone: later versions may add fields at the end.
typedef struct mlxcel_model_info {
  const char *path;        // what was opened
  const char *model_type;  // "llama", as the files say
  const char *family;      // "llama", as this library names it
  const char *format;      // "safetensors", "gguf"
  const char *backend, *engine, *device, *precision, *isa;  // "xla", "native", "cpu", "i16", "avx2"; "" with files_only
  int32_t threads;
  int32_t max_sessions;
  int64_t vocab;           // ids are 0 to vocab - 1
  int64_t context;         // most tokens of a session
  int64_t layers, hidden;
  int64_t file_bytes;      // of all weight files
  bool has_tokenizer, has_chat_template;
} mlxcel_model_info;

// Lent as long as the model lives. NULL for NULL.
MLXCEL_API const mlxcel_model_info *mlxcel_model_describe(const mlxcel_model *model);
MLXCEL_API int64_t mlxcel_model_vocab(const mlxcel_model *model);    // 0 for NULL
MLXCEL_API int64_t mlxcel_model_context(const mlxcel_model *model);  // 0 for NULL

typedef enum mlxcel_memory {
  MLXCEL_MEMORY_WEIGHTS = 0,  // read from the mapped files, or held
  MLXCEL_MEMORY_KV = 1,       // keys and values of all open sessions
  MLXCEL_MEMORY_ARENA = 2,    // intermediates and scratch
} mlxcel_memory;

// Bytes. -1 for NULL and for a kind it does not know; 0 with files_only.
// Threads: as the sessions of the model.
MLXCEL_API int64_t mlxcel_model_memory(const mlxcel_model *model, mlxcel_memory what);

// Names of the backends built in, best first; NULL behind the last. Static.
MLXCEL_API const char *mlxcel_backend_name(int32_t index);

// Frees what this library handed over as plain memory (token ids, texts). NULL is fine.
MLXCEL_API void mlxcel_free(void *memory);

#ifdef __cplusplus
}
#endif
#endif
