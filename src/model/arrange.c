// The modules of a family whose files name or group them otherwise: renamed, cut into blocks of rows, joined. The rules
// are the family's (arch.h, cel_file_rule). Blocks of rows are views of the file: rows are the outermost dimension of a
// weight in every storage, of its scales and biases and of its bias.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/checked.h"
#include "model/checkpoint_private.h"

enum { NAME_MOST = 512, JOINED_MOST = 1 << 16 };

typedef struct arranging {
  cel_checkpoint *c;
  const cel_arch *arch;
  cel_tensor_list out;
  cel_err *err;
} arranging;

static bool read_number(cel_str *s, int64_t *out) {
  size_t n = 0;
  int64_t v = 0;
  for (; n < s->n && n < 7 && s->p[n] >= '0' && s->p[n] <= '9'; n++) v = v * 10 + (s->p[n] - '0');
  if (n == 0 || n == 7 || (n > 1 && s->p[0] == '0')) return false;
  *s = (cel_str){s->p + n, s->n - n};
  *out = v;
  return true;
}

bool cel_form_matches(const char *form, cel_str name, cel_holes *h) {
  *h = (cel_holes){-1, -1};
  while (*form) {
    if (form[0] == '{' && form[1] && form[2] == '}') {
      if (!read_number(&name, form[1] == 'i' ? &h->i : &h->e)) return false;
      form += 3;
    } else {
      if (name.n == 0 || name.p[0] != *form++) return false;
      name = (cel_str){name.p + 1, name.n - 1};
    }
  }
  return name.n == 0;
}

bool cel_form_write(const char *form, cel_holes h, cel_str part, char *out, size_t bytes) {
  size_t n = 0;
  while (*form) {
    bool hole = form[0] == '{' && form[1] && form[2] == '}';
    if (n + 24 > bytes) return false;
    if (hole) n += (size_t)snprintf(out + n, bytes - n, "%lld", (long long)(form[1] == 'i' ? h.i : h.e));
    else out[n++] = *form;
    form += hole ? 3 : 1;
  }
  if (n + part.n >= bytes) return false;
  memcpy(out + n, part.p, part.n);
  out[n + part.n] = 0;
  return true;
}

// NAME = module + part, cut at the last dot.
static bool cut(const char *name, cel_str *module, cel_str *part) {
  const char *dot = strrchr(name, '.');
  if (!dot) return false;
  *module = (cel_str){name, (size_t)(dot - name)};
  *part = cel_str_of(dot);
  return true;
}

static const cel_file_rule *find_rule(const arranging *a, cel_str module, cel_holes *h) {
  for (const cel_file_rule *r = a->arch->family->files; r->module; r++) {
    if (cel_form_matches(r->module, module, h) && cel_arch_role_named(a->arch, r->parts[0]) != CEL_W_COUNT) return r;
  }
  return NULL;
}

static cel_status add(arranging *a, const cel_tensor *t, const char *form, cel_holes h, cel_str part) {
  char name[NAME_MOST];
  if (!cel_form_write(form, h, part, name, sizeof name)) return cel_fail(a->err, CEL_MALFORMED, "%s: a tensor's name is too long", t->file);
  return cel_tensor_list_add(&a->out, t, CEL_STR(""), cel_str_of(name), a->err);
}

// ---- blocks of rows ----------------------------------------------------------------------------------

static int block_rows(const arranging *a, const cel_file_rule *r, int64_t total, int64_t rows[3]) {
  if (r->form == CEL_FILE_HALVES) {
    rows[0] = total / 2;
    rows[1] = total - rows[0];
    return 2;
  }
  rows[0] = (int64_t)a->arch->n_q * a->arch->head_dim;
  rows[1] = rows[2] = (int64_t)a->arch->n_kv * a->arch->head_dim;
  return 3;
}

static cel_status bad_rows(const arranging *a, const cel_tensor *t, const int64_t *rows, int n) {
  char want[96];
  snprintf(want, sizeof want, n == 3 ? "%lld rows: q %lld, k %lld, v %lld" : "an even number of rows",
           (long long)(rows[0] + rows[1] + rows[2]), (long long)rows[0], (long long)rows[1], (long long)rows[2]);
  return cel_fail(a->err, CEL_MALFORMED, "%s: tensor \"%s\" is %s, the config asks for %s", t->file,
                  cel_show(cel_str_of(t->name)).text, cel_show_dims(t->dims, t->rank).text, want);
}

static cel_status split(arranging *a, const cel_file_rule *r, const cel_tensor *t, cel_holes h, cel_str part) {
  int64_t total = t->rank > 0 ? t->dims[0] : 0, rows[3] = {0};
  int n = block_rows(a, r, total, rows);
  bool fits = rows[0] + rows[1] + rows[2] == total && (n == 3 || rows[0] == rows[1]);
  if (!fits || total == 0 || !t->data || t->bytes % total != 0) return bad_rows(a, t, rows, n);
  const uint8_t *at = t->data;
  for (int i = 0; i < n; i++) {
    cel_tensor view = *t;
    view.dims[0] = rows[i];
    view.bytes = t->bytes / total * rows[i];
    view.data = at;
    at += view.bytes;
    CEL_TRY(add(a, &view, r->parts[i], h, part));
  }
  return CEL_OK;
}

// ---- many into one -----------------------------------------------------------------------------------

static const cel_tensor *member(const arranging *a, const cel_file_rule *r, cel_holes h, cel_str part, int64_t e) {
  char name[NAME_MOST];
  h.e = e;
  if (!cel_form_write(r->module, h, part, name, sizeof name)) return NULL;
  return cel_tensor_list_find(a->c->priv->list.items, a->c->priv->list.n, name);
}

static bool alike(const cel_tensor *a, const cel_tensor *b) {
  return a->dtype == b->dtype && a->rank == b->rank && a->bytes == b->bytes && a->data && b->data &&
         memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0;
}

// Called for every member, done at the first. These are small (norm weights by head): a copy.
static cel_status join(arranging *a, const cel_file_rule *r, const cel_tensor *first, cel_holes h, cel_str part) {
  if (h.e != 0) {
    if (member(a, r, h, part, h.e - 1)) return CEL_OK;
    return cel_fail(a->err, CEL_MALFORMED, "%s: tensor \"%s\" is there, the one before it is missing", first->file,
                    cel_show(cel_str_of(first->name)).text);
  }
  int64_t n = 1, bytes;
  while (n < JOINED_MOST && member(a, r, h, part, n)) n++;
  cel_tensor whole = *first;
  if (first->rank >= CEL_TENSOR_MAX_RANK || !cel_mul_i64(first->bytes, n, &bytes))
    return cel_fail(a->err, CEL_MALFORMED, "%s: tensor \"%s\" is no vector", first->file, cel_show(cel_str_of(first->name)).text);
  uint8_t *copy = cel_arena_alloc(&a->c->priv->arena, (size_t)bytes + 1);
  if (!copy) return cel_fail_oom(a->err, first->name);
  for (int64_t i = 0; i < n; i++) {
    const cel_tensor *t = i ? member(a, r, h, part, i) : first;
    if (!alike(first, t))
      return cel_fail(a->err, CEL_MALFORMED, "%s: tensor \"%s\" is %s %s, the first of its kind is %s %s", t->file,
                      cel_show(cel_str_of(t->name)).text, cel_dtype_of(t->dtype)->name, cel_show_dims(t->dims, t->rank).text,
                      cel_dtype_of(first->dtype)->name, cel_show_dims(first->dims, first->rank).text);
    memcpy(copy + i * first->bytes, t->data, (size_t)first->bytes);
  }
  memmove(whole.dims + 1, whole.dims, (size_t)whole.rank++ * sizeof *whole.dims);
  whole.dims[0] = n;
  whole.bytes = bytes;
  whole.data = copy;
  return add(a, &whole, r->parts[0], h, part);
}

// ---- all ---------------------------------------------------------------------------------------------

// M.lora_A.weight: M and the rest; false for a tensor of no adapter.
static bool cut_adapter(const char *name, cel_str *module, cel_str *part) {
  const char *at = strstr(name, ".lora_A.");
  if (!at) at = strstr(name, ".lora_B.");
  if (!at) return false;
  *module = (cel_str){name, (size_t)(at - name)};
  *part = cel_str_of(at);
  return true;
}

// Of an adapter, lora_A goes with every part of a product; the rows of lora_B are cut as those of the weight, whose name
// has .base_layer behind it where files carry adapters of their own.
static cel_status arrange_adapter(arranging *a, const cel_tensor *t, cel_str module, cel_str part) {
  char base[NAME_MOST];
  cel_holes h;
  const cel_file_rule *r = find_rule(a, module, &h);
  if (!r && module.n + 16 < sizeof base) {
    snprintf(base, sizeof base, "%.*s.base_layer", (int)module.n, module.p);
    r = find_rule(a, cel_str_of(base), &h);
  }
  if (!r || r->form == CEL_FILE_JOINED) return cel_tensor_list_add(&a->out, t, CEL_STR(""), cel_str_of(t->name), a->err);
  if (r->form == CEL_FILE_RENAMED) return add(a, t, r->parts[0], h, part);
  if (cel_str_starts(part, CEL_STR(".lora_B."))) return split(a, r, t, h, part);
  for (int i = 0; i < CEL_COUNT(r->parts) && r->parts[i]; i++) CEL_TRY(add(a, t, r->parts[i], h, part));
  return CEL_OK;
}

static cel_status arrange_one(arranging *a, const cel_tensor *t) {
  cel_str module, part;
  cel_holes h;
  if (a->c->adapter && cut_adapter(t->name, &module, &part)) return arrange_adapter(a, t, module, part);
  const cel_file_rule *r = cut(t->name, &module, &part) ? find_rule(a, module, &h) : NULL;
  if (!r) return cel_tensor_list_add(&a->out, t, CEL_STR(""), cel_str_of(t->name), a->err);
  if (r->form == CEL_FILE_RENAMED) return add(a, t, r->parts[0], h, part);
  return r->form == CEL_FILE_JOINED ? join(a, r, t, h, part) : split(a, r, t, h, part);
}

static cel_status arrange_tensors(arranging *a) {
  cel_tensor_list *list = &a->c->priv->list;
  for (int64_t i = 0; i < list->n; i++) CEL_TRY(arrange_one(a, &list->items[i]));
  CEL_TRY(cel_tensor_list_sort(&a->out, a->err));
  a->c->priv->filed = *list;
  *list = a->out;
  a->out = (cel_tensor_list){.arena = list->arena};
  return CEL_OK;
}

// What the config's quantization block says of a module in a file holds for the parts it becomes.
static cel_status arrange_overrides(arranging *a) {
  cel_checkpoint_private *p = a->c->priv;
  static const char head[] = "model.";
  cel_override *list = CEL_NEW_ARRAY(&p->arena, cel_override, p->n_overrides * 3 + 1);
  int64_t n = 0;
  if (!list) return cel_fail_oom(a->err, "quantization overrides");
  for (int64_t i = 0; i < p->n_overrides; i++) {
    const cel_override *o = &p->overrides[i];
    char full[NAME_MOST], name[NAME_MOST];
    cel_holes h;
    bool whole = snprintf(full, sizeof full, "%s%s", head, o->module) < NAME_MOST;
    const cel_file_rule *r = find_rule(a, cel_str_of(o->module), &h);
    if (!r && whole) r = find_rule(a, cel_str_of(full), &h);
    if (!r) list[n++] = *o;
    for (int k = 0; r && k < CEL_COUNT(r->parts) && r->parts[k]; k++) {
      if (!cel_form_write(r->parts[k], h, CEL_STR(""), name, sizeof name)) continue;
      const char *bare = cel_str_starts(cel_str_of(name), cel_str_of(head)) ? name + strlen(head) : name;
      list[n] = (cel_override){cel_arena_dup(&p->arena, bare, strlen(bare)), o->value};
      if (!list[n++].module) return cel_fail_oom(a->err, "quantization overrides");
    }
  }
  p->overrides = list;
  p->n_overrides = n;
  cel_checkpoint_sort_overrides(p);
  return CEL_OK;
}

// A config that cannot be described is the model's trouble, told when it is loaded; its tensors stay as they are.
cel_status cel_checkpoint_arrange(cel_checkpoint *c, cel_err *err) {
  const cel_family *family = c->config ? cel_arch_family_of(c->config) : NULL;
  if (!family || !family->files) return CEL_OK;
  cel_arena arena;
  cel_arch arch;
  cel_err told;
  cel_arena_init(&arena);
  cel_status s = cel_arch_from_config(c->config, NULL, &arena, &arch, &told);
  if (s == CEL_OK) {
    arranging a = {.c = c, .arch = &arch, .out = {.arena = &c->priv->arena}, .err = err};
    s = arrange_tensors(&a);
    if (s == CEL_OK) s = arrange_overrides(&a);
    cel_tensor_list_deinit(&a.out);
  } else {
    s = s == CEL_OOM ? cel_fail_oom(err, "a model's description") : CEL_OK;
  }
  cel_arena_deinit(&arena);
  return s;
}
