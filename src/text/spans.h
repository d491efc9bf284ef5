// Growing lists of pieces of a text. An append that found no memory sticks in `failed`.
#ifndef CEL_TEXT_SPANS_H
#define CEL_TEXT_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

typedef struct cel_span {
  size_t at, n;  // bytes
} cel_span;

typedef struct cel_spans {
  cel_span *p;
  size_t n, cap;
  bool failed;
} cel_spans;

void cel_spans_deinit(cel_spans *s);
void cel_spans_add(cel_spans *s, size_t at, size_t n);  // nothing when n is 0

typedef struct cel_ids {
  int32_t *p;
  size_t n, cap;
  bool failed;
} cel_ids;

void cel_ids_deinit(cel_ids *s);
bool cel_ids_reserve(cel_ids *s, size_t more);
void cel_ids_add(cel_ids *s, int32_t id);

#endif
