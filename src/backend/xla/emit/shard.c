// Several devices share a model by tensor parallelism: rows of what makes heads and inner columns, columns of what reads
// them, caches by head. Every argument and result says what a device has of it; how values in between are shared, and which
// sums go between devices, is left to the compiler's partitioner.
#include "backend/xla/emit/emit_internal.h"

cel_status cel_emit_check_devices(const cel_arch *a, int devices, cel_err *err) {
  enum { DEVICES_MOST = 64 };
  if (devices <= 1) return CEL_OK;
  if (devices > DEVICES_MOST) return cel_fail(err, CEL_UNSUPPORTED, "%d devices; at most %d share a model", devices, DEVICES_MOST);
  bool latent = a->mla.kv_rank > 0;  // one key for all heads: each device has all of them
  if (a->n_kv_layers == 0 || (a->n_q % devices == 0 && (latent || a->n_kv % devices == 0))) return CEL_OK;
  return cel_fail(err, CEL_UNSUPPORTED, "%d devices cannot share %d query heads and %d key/value heads: both must be divisible by "
                  "the number of devices", devices, a->n_q, a->n_kv);
}

int cel_state_shard(const cel_arch *a, cel_state state, int devices) {
  bool heads = state == CEL_STATE_KEYS || state == CEL_STATE_VALUES;
  return devices > 1 && heads && a->mla.kv_rank == 0 ? 2 : -1;
}

// The dimension to cut a matrix [out, in], or a stack of them, along.
static int axis_of(cel_weight_role role, int rank) {
  if (rank == 3) return 0;  // experts or heads
  if (rank != 2) return -1;
  switch (role) {
    case CEL_W_EMBED:
    case CEL_W_HEAD:
    case CEL_W_Q:
    case CEL_W_K:
    case CEL_W_V:
    case CEL_W_QKV:
    case CEL_W_Q_B:
    case CEL_W_KV_B:
    case CEL_W_GATE:
    case CEL_W_UP:
    case CEL_W_SHARED_GATE:
    case CEL_W_SHARED_UP: return 0;
    case CEL_W_O:
    case CEL_W_DOWN:
    case CEL_W_SHARED_DOWN: return 1;
    default: return -1;
  }
}

// What cannot be cut into equal parts, every device has all of.
void cel_emit_shard_weight(cel_emit *e, hlo arg) {
  if (e->options.devices <= 1 || !arg) return;
  int axis = axis_of(e->placing, arg->type->rank);
  if (axis >= 0 && arg->type->dims[axis] % e->options.devices != 0) axis = -1;
  cel_hlo_arg_shard(&e->b, arg, axis);
}

void cel_emit_shard_input(cel_emit *e, hlo arg) {
  if (e->options.devices > 1) cel_hlo_arg_shard(&e->b, arg, -1);
}

void cel_emit_shard_state(cel_emit *e, cel_state which, hlo arg) {
  if (e->options.devices > 1) cel_hlo_arg_shard(&e->b, arg, cel_state_shard(e->arch, which, e->options.devices));
}

void cel_emit_shard_results(cel_emit *e) {
  if (e->options.devices <= 1) return;
  int result = 0;
  if (e->options.logits != CEL_LOGITS_NONE) cel_hlo_result_shard(&e->b, result++, -1);
  for (int i = 0; i < CEL_STATE_COUNT; i++) {
    if (e->state[i]) cel_hlo_result_shard(&e->b, result++, cel_state_shard(e->arch, (cel_state)i, e->options.devices));
  }
  for (int i = 0; i < e->n_taps; i++) cel_hlo_result_shard(&e->b, result++, -1);
}
