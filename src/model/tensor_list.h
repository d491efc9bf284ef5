// A growing list of tensors while a checkpoint is being opened, and the text of hostile names in messages.
#ifndef CEL_MODEL_TENSOR_LIST_H
#define CEL_MODEL_TENSOR_LIST_H

#include "base/arena.h"
#include "base/str.h"
#include "model/checkpoint.h"

typedef struct cel_tensor_list {
  cel_arena *arena;   // names live here
  cel_tensor *items;  // malloc'ed
  int64_t n, cap;
} cel_tensor_list;

void cel_tensor_list_deinit(cel_tensor_list *l);
// Copies *t; its name becomes head + tail, interned in the arena.
CEL_MUST_CHECK cel_status cel_tensor_list_add(cel_tensor_list *l, const cel_tensor *t, cel_str head, cel_str tail,
                                              cel_err *err);
// By name; two tensors of one name are refused, naming the files.
CEL_MUST_CHECK cel_status cel_tensor_list_sort(cel_tensor_list *l, cel_err *err);
const cel_tensor *cel_tensor_list_find(const cel_tensor *sorted, int64_t n, const char *name);

// Makes sure that there is room for one more of `size` bytes in a malloc'ed array, doubling it. Returns
// false when memory is out.
CEL_MUST_CHECK bool cel_grow(void **items, int64_t n, int64_t *cap, size_t size);

// A name from a file, fit for one line of a message: control bytes and broken UTF-8 become '?', long ones
// are cut. Use as cel_show(s).text inside one expression.
typedef struct cel_shown { char text[100]; } cel_shown;
cel_shown cel_show(cel_str s);
// "[4096, 512]" of dims.
cel_shown cel_show_dims(const int64_t *dims, int rank);

#endif
