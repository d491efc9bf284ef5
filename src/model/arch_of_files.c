#include "model/arch_of_files.h"

#include <stdio.h>
#include <string.h>

// What tells them apart is the convolution: [channels, taps, 1], where Hugging Face has [channels, 1, taps].
bool cel_checkpoint_norms_have_one(const cel_arch *a, const cel_checkpoint *checkpoint) {
  char module[200], name[256];
  for (int i = 0; i < a->n_layers; i++) {
    if (a->layers[i].mixer != CEL_MIXER_DELTA) continue;
    if (!cel_arch_weight_name(a, CEL_W_DELTA_CONV, i, module, sizeof module)) return false;
    snprintf(name, sizeof name, "%s.weight", module);
    const cel_tensor *t = cel_checkpoint_find(checkpoint, name);
    return t && t->rank == 3 && t->dims[1] == a->delta.kernel && t->dims[2] == 1;
  }
  return false;
}

cel_arch cel_checkpoint_arch(const cel_arch *arch, const cel_checkpoint *checkpoint, float *divisors) {
  cel_arch a = *arch;
  const cel_tensor *t = cel_checkpoint_find(checkpoint, "rope_freqs.weight");
  for (int i = 0; i < a.n_ropes; i++) {
    cel_rope *r = &a.ropes[i];
    if (checkpoint->rope_interleaved) r->interleaved = true;
    if (t && t->dtype == CEL_DT_F32 && t->dims[0] == r->dims / 2) {
      memcpy(divisors, t->data, (size_t)t->bytes);
      r->divisors = divisors;
    }
  }
  if (a.norm == CEL_NORM_RMS_PLUS_ONE && cel_checkpoint_norms_have_one(&a, checkpoint)) a.norm = CEL_NORM_RMS;
  return a;
}
