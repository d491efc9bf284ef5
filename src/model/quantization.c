// The `quantization` block of MLX configs: top-level values and per-module overrides. Paths in it come
// with and without "model.", "language_model." and ".weight", depending on which tool wrote them.
#include <stdlib.h>
#include <string.h>

#include "model/checkpoint_private.h"
#include "model/names.h"

// ---- finding the block ----------------------------------------------------------------------------

static cel_status find_block(const cel_json *config, const char *dir, const cel_json **out, const cel_json **fp8, cel_err *err) {
  const cel_json *own = cel_json_get(config, "quantization"), *other = cel_json_get(config, "quantization_config");
  *out = own ? own : other;
  if (own && !cel_json_is_object(own)) return cel_fail(err, CEL_MALFORMED, "%s/config.json: quantization is not an object", dir);
  const char *method = own ? NULL : cel_json_string(other, "quant_method", NULL);
  if (!method) return CEL_OK;
  if (!strcmp(method, "mxfp4")) {  // gpt-oss: blocks and scales say it all (experts.c)
    *out = NULL;
    return CEL_OK;
  }
  if (!strcmp(method, "fp8") && !strcmp(cel_json_string(other, "fmt", "e4m3"), "e4m3")) {
    *out = NULL;
    *fp8 = other;
    return CEL_OK;
  }
  return cel_fail(err, CEL_UNSUPPORTED, "%s/config.json: quantization_config.quant_method \"%s\" is not supported; MLX "
                  "weights, mxfp4 of gpt-oss, fp8 (e4m3) with weight_scale_inv and plain ones are", dir,
                  cel_show(cel_str_of(method)).text);
}

// ---- overrides ------------------------------------------------------------------------------------

static cel_str without_head(cel_str s, cel_str head) {
  return cel_str_starts(s, head) ? (cel_str){s.p + head.n, s.n - head.n} : s;
}

// The path with every optional part taken away.
static const char *bare_module(cel_arena *arena, const char *path) {
  cel_str s = cel_str_of(path), tail = CEL_STR(".weight");
  if (cel_str_ends(s, tail)) s.n -= tail.n;
  s = without_head(s, CEL_STR("model."));
  s = without_head(s, CEL_STR("language_model."));
  s = without_head(s, CEL_STR("model."));
  char name[512];
  int64_t expert;  // experts of one stack must agree, as any two entries of one module
  const char *bare = cel_arena_dup(arena, s.p, s.n);
  return bare && cel_name_of_experts(bare, false, name, sizeof name, &expert) ? cel_arena_dup(arena, name, strlen(name)) : bare;
}

static int by_module(const void *a, const void *b) {
  const cel_override *x = a, *y = b;
  return strcmp(x->module, y->module);
}

void cel_checkpoint_sort_overrides(cel_checkpoint_private *p) {
  if (p->n_overrides) qsort((void *)(uintptr_t)p->overrides, (size_t)p->n_overrides, sizeof *p->overrides, by_module);
}

static cel_status read_overrides(cel_checkpoint *c, cel_err *err) {
  cel_checkpoint_private *p = c->priv;
  cel_override *list = CEL_NEW_ARRAY(&p->arena, cel_override, cel_json_object_size(p->quantization) + 1);
  size_t at;
  cel_str key;
  cel_json *value;
  int64_t n = 0;
  if (!list) return cel_fail_oom(err, "quantization overrides");
  cel_json_object_foreach(p->quantization, at, key, value) {
    if (!cel_json_is_object(value)) continue;
    list[n] = (cel_override){bare_module(&p->arena, key.p), value};
    if (!list[n++].module) return cel_fail_oom(err, "quantization overrides");
  }
  if (n) qsort(list, (size_t)n, sizeof *list, by_module);
  for (int64_t i = 1; i < n; i++) {
    if (by_module(&list[i - 1], &list[i]) != 0 || cel_json_equal(list[i - 1].value, list[i].value)) continue;
    return cel_fail(err, CEL_MALFORMED, "%s/config.json: quantization has two different entries for module \"%s\"", c->dir,
                    cel_show(cel_str_of(list[i].module)).text);
  }
  p->overrides = list;
  p->n_overrides = n;
  return CEL_OK;
}

cel_status cel_checkpoint_read_quantization(cel_checkpoint *c, cel_err *err) {
  cel_checkpoint_private *p = c->priv;
  CEL_TRY(find_block(c->config, c->dir, &p->quantization, &p->fp8, err));
  if (!p->quantization && !p->fp8) CEL_TRY(find_block(cel_json_get(c->config, "text_config"), c->dir, &p->quantization, &p->fp8, err));
  return p->quantization ? read_overrides(c, err) : CEL_OK;
}

// ---- asking ---------------------------------------------------------------------------------------

static cel_quantization values_of(const cel_json *block) {
  return (cel_quantization){cel_json_int(block, "bits", 0), cel_json_int(block, "group_size", 0),
                            cel_json_string(block, "mode", block ? "affine" : NULL)};
}

// An override without a mode is affine, whatever the top level says (as mlx reads it).
cel_quantization cel_checkpoint_quantization_of(const cel_checkpoint *c, const char *module) {
  const cel_checkpoint_private *p = c->priv;
  cel_str bare = without_head(cel_str_of(module), CEL_STR("model."));
  cel_override key = {.module = bare.p};
  const cel_override *o =
      p->n_overrides ? bsearch(&key, p->overrides, (size_t)p->n_overrides, sizeof key, by_module) : NULL;
  return values_of(o ? o->value : p->quantization);
}
