// A model of tests/data/oracle, opened for the emitter.
#ifndef CEL_TESTS_GOLDEN_SUBJECT_H
#define CEL_TESTS_GOLDEN_SUBJECT_H

#include "backend/xla/xla_storage.h"
#include "model/arch_of_files.h"

typedef struct subject {
  cel_checkpoint *checkpoint;
  cel_arena arena;
  cel_arch arch;
  float divisors[512];
  cel_storage_source storage;
} subject;

// Ends the test where the folder cannot be opened.
void subject_open(subject *s, const char *model);
void subject_close(subject *s);

#endif
