// What normalizer steps do to a text; for normalize*.c alone. Each appends to *out: see cel_norm.
#ifndef CEL_TEXT_NORM_RUN_H
#define CEL_TEXT_NORM_RUN_H

#include "text/steps.h"

#define CEL_NORM_RUN(name) \
  cel_status cel_norm_run_##name(const cel_norm *n, cel_str in, cel_buf *out, cel_norm_run *run, cel_err *err)

CEL_NORM_RUN(form);       // n->form: options of utf8proc
CEL_NORM_RUN(lowercase);
CEL_NORM_RUN(drop);       // without the characters that n->drops() names
CEL_NORM_RUN(clean);      // BERT: no control characters, every white space is a space
CEL_NORM_RUN(chinese);    // BERT: a space on both sides of every Chinese character
CEL_NORM_RUN(nmt);
CEL_NORM_RUN(merge_spaces);

#endif
