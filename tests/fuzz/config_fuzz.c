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
    check(r->dims >= 2 && r->dims % 2 == 0 && r->dims <= a->head_dim && r->dims <= 2 * CEL_COUNT(f));
    cel_rope_frequencies(r, 1, f, &amplitude);
    check(amplitude == amplitude);
    for (int j = 0; j < r->dims / 2; j++) check(f[j] == f[j]);
    cel_rope_frequencies(r, a->max_position, f, &amplitude);
  }
}

static void check_ffn(const cel_arch *a, const cel_layer *l) {
  const cel_moe *m = &a->moe;
  if (l->ffn == CEL_FFN_MOE) check(m->n_experts > 0 && m->top_k > 0 && m->top_k <= m->n_experts && m->inter > 0);
  else check(l->inter > 0);
  check(l->state >= 0);
}

static void check_arch(const cel_arch *a) {
  check(a->n_layers > 0 && a->vocab > 0 && a->hidden > 0 && a->inter >= 0 && a->max_position > 0);
  check(a->n_q > 0 && a->n_kv > 0 && a->n_q % a->n_kv == 0 && a->head_dim > 0);
  check(a->head_dim % 2 == 0 || a->mla.kv_rank > 0);  // the latent form rotates a part by itself
  check(a->n_eos >= 0 && a->n_eos <= CEL_ARCH_MAX_EOS && a->n_ropes <= CEL_ARCH_MAX_ROPES);
  check(a->norm_eps > 0 && a->attn_scale > 0 && a->embed_mul > 0 && a->window >= 0);
  for (int i = 0; i < a->n_layers; i++) {
    check_ffn(a, &a->layers[i]);
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
  cel_json_decref(config);
  return 0;
}
