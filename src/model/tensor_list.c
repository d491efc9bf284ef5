#include "model/tensor_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cel_tensor_list_deinit(cel_tensor_list *l) {
  free(l->items);
  *l = (cel_tensor_list){.arena = l->arena};
}

bool cel_grow(void **items, int64_t n, int64_t *cap, size_t size) {
  if (n < *cap) return true;
  int64_t more = *cap ? *cap * 2 : 64;
  if ((uint64_t)more > SIZE_MAX / 2 / size) return false;
  void *p = realloc(*items, (size_t)more * size);
  if (!p) return false;
  *items = p;
  *cap = more;
  return true;
}

cel_status cel_tensor_list_add(cel_tensor_list *l, const cel_tensor *t, cel_str head, cel_str tail, cel_err *err) {
  void *items = l->items;
  if (!cel_grow(&items, l->n, &l->cap, sizeof *l->items)) return cel_fail_oom(err, "the list of tensors");
  l->items = items;
  char *name = cel_arena_alloc(l->arena, head.n + tail.n + 1);
  if (!name) return cel_fail_oom(err, "a tensor's name");
  if (head.n) memcpy(name, head.p, head.n);
  if (tail.n) memcpy(name + head.n, tail.p, tail.n);
  l->items[l->n] = *t;
  l->items[l->n++].name = name;
  return CEL_OK;
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const cel_tensor *)a)->name, ((const cel_tensor *)b)->name);
}

cel_status cel_tensor_list_sort(cel_tensor_list *l, cel_err *err) {
  if (l->n) qsort(l->items, (size_t)l->n, sizeof *l->items, by_name);
  for (int64_t i = 1; i < l->n; i++) {
    const cel_tensor *a = &l->items[i - 1], *b = &l->items[i];
    if (strcmp(a->name, b->name) != 0) continue;
    return cel_fail(err, CEL_MALFORMED, "%s: tensor \"%s\" is there twice (also in %s); each may occur once", b->file,
                    cel_show(cel_str_of(b->name)).text, a->file);
  }
  return CEL_OK;
}

const cel_tensor *cel_tensor_list_find(const cel_tensor *sorted, int64_t n, const char *name) {
  cel_tensor key = {.name = name};
  return n ? bsearch(&key, sorted, (size_t)n, sizeof *sorted, by_name) : NULL;
}

cel_shown cel_show(cel_str s) {
  cel_shown out;
  size_t used = 0, room = sizeof out.text - 4;
  for (size_t i = 0; i < s.n;) {
    char utf8[4];
    uint32_t cp = cel_utf8_next(s.p, s.n, &i);
    if (cp < 0x20 || cp == 0x7F || cp == 0xFFFD) cp = '?';
    size_t n = (size_t)cel_utf8_put(utf8, cp);
    if (used + n > room) {
      memcpy(out.text + used, "...", 3);
      used += 3;
      break;
    }
    memcpy(out.text + used, utf8, n);
    used += n;
  }
  out.text[used] = 0;
  return out;
}

cel_shown cel_show_dims(const int64_t *dims, int rank) {
  cel_shown out = {"["};
  size_t used = 1;
  for (int i = 0; i < rank && used < sizeof out.text - 24; i++) {
    used += (size_t)snprintf(out.text + used, sizeof out.text - used, "%s%lld", i ? ", " : "", (long long)dims[i]);
  }
  memcpy(out.text + used, "]", 2);
  return out;
}
