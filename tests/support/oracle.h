// The committed reference runs (tests/data/oracle, made by tests/oracle): checkpoints, greedy tokens, logits.
#ifndef CEL_TESTS_SUPPORT_ORACLE_H
#define CEL_TESTS_SUPPORT_ORACLE_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "model/checkpoint.h"
#include "session/session.h"

typedef struct oracle_case {
  int32_t *ids;     // [n] prompt
  int64_t n;
  int32_t *greedy;  // [n_greedy]
  int64_t n_greedy;
  int64_t *rows;    // [n_rows] prompt positions whose logits are kept
  int64_t n_rows, first_row;  // in logits
} oracle_case;

typedef struct oracle {
  char path[512];  // what cel_checkpoint_open takes
  char adapter[512];  // and cel_checkpoint_open_adapted; "": none
  oracle_case cases[8];
  int n_cases;
  double tolerance, max_logit;
  float *logits;   // [rows][vocab]; NULL when there are none
  int64_t vocab;
} oracle;

// Loads tests/data/oracle/NAME, or with NAME:ADAPTER its oracle.ADAPTER.json; fails the running cmocka test when something
// is wrong with it.
oracle *oracle_load(const char *name);
void oracle_free(oracle *o);

// A model over a checkpoint, on the backend that MLXCEL_BACKEND names, or the first that is built.
typedef struct loaded {
  cel_checkpoint *checkpoint;
  cel_arena arena;
  cel_arch arch;
  const cel_backend *backend;
  cel_model_handle *model;
} loaded;
// `precision`: value of MLXCEL_XLA_PRECISION. Fails the test when it does not load.
void loaded_open_adapted(loaded *l, const char *path, const char *adapter, const char *precision, const cel_load_options *options);
void loaded_open(loaded *l, const char *path, const char *precision, const cel_load_options *options);
void loaded_close(loaded *l);

// Greedy options without end ids.
cel_session_options greedy_options(void);
// Prefills and takes n greedy steps; fails the test on an error.
void greedy_run(const loaded *l, cel_session *s, const int32_t *ids, int64_t n_ids, int32_t *out, int64_t n);

#endif
