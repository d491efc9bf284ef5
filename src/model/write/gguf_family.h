// The families that have names in GGUF: one row each. Both directions of a conversion read it.
#ifndef CEL_MODEL_WRITE_GGUF_FAMILY_H
#define CEL_MODEL_WRITE_GGUF_FAMILY_H

#include "arch/arch.h"
#include "model/write/gguf_write.h"

typedef struct cel_gguf_family {
  const char *family;    // cel_family.name
  const char *arch;      // general.architecture
  const char *hf_class;  // "architectures" of a folder's config.json
  cel_act act;           // what the architecture's graph has; no key says it
  bool neighbours;       // rows of q and k are in pairs (2j, 2j + 1)
  bool plus_one;         // norms are stored with the 1 of (1 + w)
  bool window;           // sliding layers have keys of their own
} cel_gguf_family;

// Fails with CEL_UNSUPPORTED and the list of rows.
CEL_MUST_CHECK cel_status cel_gguf_family_of(const cel_arch *a, const cel_gguf_family **out, cel_err *err);

// "model.layers.3.self_attn.q_proj.weight" -> "blk.3.attn_q.weight", role and all. False: no such name in GGUF.
bool cel_gguf_name_of(const cel_arch *a, const char *canonical, char *out, int out_bytes, cel_weight_role *role);

typedef void cel_write_note(void *context, const char *text);

// The metadata that says what `a` is: ARCH.* keys, general.architecture. What GGUF has no words for is refused by name, or
// said in a note where the file stays right for a shorter context.
CEL_MUST_CHECK cel_status cel_gguf_describe(const cel_arch *a, const cel_gguf_family *f, cel_gguf_head *h,
                                            cel_write_note *note, void *context, cel_err *err);

// Llama 3's rotation as GGUF has it, in a tensor: rope_freqs.weight [dims / 2], what each frequency is divided by.
// False: `r` is no such rotation.
bool cel_rope_divisors(const cel_rope *r, float *out);
// The way back: finds the four numbers (factor and the three borders; high is four times low as in all that is published)
// that give these divisors. False when there are none.
bool cel_rope_from_divisors(const float *divisors, int n, double theta, cel_rope *out);

#endif
