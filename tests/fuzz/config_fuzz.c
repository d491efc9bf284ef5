// links: cel_arch
// Bytes as config.json: parsed, described, and when accepted the invariants every reader of a cel_arch
// relies on must hold.
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check(bool holds) {
  if (!holds) abort();
}

static void check_ropes(const cel_arch *a) {
  float f[256], amplitude;
  for (int i = 0; i < a->n_ropes; i++) {
    const cel_rope *r = &a->ropes[i];
    check(r->dims >= 2 && r->dims % 2 == 0 && r->dims <= a->head_dim && a->head_dim <= 512);
    cel_rope_frequencies(r, 1, f, &amplitude);
    check(amplitude == amplitude);
    for (int j = 0; j < r->dims / 2; j++) check(f[j] == f[j]);
    cel_rope_frequencies(r, a->max_position, f, &amplitude);
  }
}

static void check_arch(const cel_arch *a) {
  check(a->n_layers > 0 && a->vocab > 0 && a->hidden > 0 && a->inter > 0 && a->max_position > 0);
  check(a->n_q > 0 && a->n_kv > 0 && a->n_q % a->n_kv == 0 && a->head_dim % 2 == 0);
  check(a->n_eos >= 0 && a->n_eos <= CEL_ARCH_MAX_EOS && a->n_ropes <= CEL_ARCH_MAX_ROPES);
  check(a->norm_eps > 0 && a->attn_scale > 0 && a->embed_mul > 0 && a->window >= 0);
  for (int i = 0; i < a->n_layers; i++) {
    check(a->layers[i].rope >= -1 && a->layers[i].rope < a->n_ropes);
    check(a->layers[i].attention == CEL_ATTENTION_FULL || a->window > 0);
  }
  for (int i = 1; i < a->n_eos; i++) check(a->eos[i - 1] < a->eos[i]);
  check_ropes(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  cel_json *config = NULL;
  cel_err err = {0};
  if (cel_json_parse((cel_str){(const char *)data, n}, "config.json", &config, &err) != CEL_OK) return 0;
  cel_arena arena;
  cel_arena_init(&arena);
  cel_arch arch;
  cel_status s = cel_arch_from_config(config, config, &arena, &arch, &err);
  if (s == CEL_OK) check_arch(&arch);
  else check(s != CEL_OOM && err.text[0] && !strchr(err.text, '\n'));
  cel_arena_deinit(&arena);
  json_decref(config);
  return 0;
}
