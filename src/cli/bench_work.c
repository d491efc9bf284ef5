// What a token costs a model, by its description and its file.
#include "arch/weight_shape.h"
#include "cli/bench.h"

// ---- products --------------------------------------------------------------------------------------

static double products_of(const cel_lm *lm, cel_weight_role role, int layer) {
  const cel_arch *a = &lm->arch;
  if (!cel_arch_weight_wanted(a, role, layer, cel_checkpoint_has_matrix, lm->checkpoint)) return 0;
  cel_weight_shape s = cel_arch_weight_shape(a, role, layer);
  if (s.kind == CEL_WEIGHT_VECTOR || s.kind == CEL_WEIGHT_TENSOR) return 0;
  double one = (double)s.rows * (double)s.cols;
  return s.kind == CEL_WEIGHT_STACK ? one * a->moe.top_k : s.kind == CEL_WEIGHT_HEADS ? one * (double)s.stack : one;
}

double bench_products(const cel_lm *lm) {
  double sum = products_of(lm, CEL_W_PLE_PROJECTION, -1);
  for (int layer = 0; layer < lm->arch.n_layers; layer++) {
    for (int role = CEL_W_FIRST_OF_LAYER; role < CEL_W_COUNT; role++) sum += products_of(lm, (cel_weight_role)role, layer);
  }
  return sum;
}

// ---- bytes -----------------------------------------------------------------------------------------

static double bytes_of(const cel_lm *lm, cel_weight_role role, int layer) {
  enum { NAME_MOST = 256 };
  char module[NAME_MOST];
  cel_weight w;
  cel_err err = {0};
  if (!cel_arch_weight_name(&lm->arch, role, layer, module, NAME_MOST)) return 0;
  if (cel_checkpoint_weight(lm->checkpoint, module, &w, &err) != CEL_OK) return 0;
  return (double)w.tensor->bytes + (w.scales ? (double)w.scales->bytes : 0) + (w.biases ? (double)w.biases->bytes : 0);
}

// Of a table a token reads one row. Without a head the table is the head, too, and is read whole.
static double bytes_of_tables(const cel_lm *lm) {
  double head = bytes_of(lm, CEL_W_HEAD, -1);
  return (head > 0 ? bytes_of(lm, CEL_W_EMBED, -1) : 0) + bytes_of(lm, CEL_W_PLE_EMBED, -1);
}

static double bytes_of_experts(const cel_lm *lm) {
  double sum = 0;
  for (int layer = 0; layer < lm->arch.n_layers; layer++) {
    for (int role = CEL_W_FIRST_OF_LAYER; role < CEL_W_COUNT; role++) {
      if (!cel_arch_weight_wanted(&lm->arch, (cel_weight_role)role, layer, cel_checkpoint_has_matrix, lm->checkpoint)) continue;
      if (cel_arch_weight_shape(&lm->arch, (cel_weight_role)role, layer).kind == CEL_WEIGHT_STACK)
        sum += bytes_of(lm, (cel_weight_role)role, layer);
    }
  }
  return sum;
}

double bench_step_bytes(const cel_lm *lm, int64_t rows, int64_t all) {
  double read = (double)all - bytes_of_tables(lm);
  if (lm->arch.moe.n_experts == 0) return read;
  double chosen = (double)rows * lm->arch.moe.top_k / lm->arch.moe.n_experts;
  return read - (chosen < 1 ? (1 - chosen) * bytes_of_experts(lm) : 0);
}
