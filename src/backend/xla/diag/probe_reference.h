// Inside of the probes: operands and meanings (probe_reference.c), texts (probe_text.c).
#ifndef CEL_XLA_DIAG_PROBE_REFERENCE_H
#define CEL_XLA_DIAG_PROBE_REFERENCE_H

void cel_probe_fill_dequant(void *const *operands);
void cel_probe_fill_matmul(void *const *operands);
void cel_probe_fill_sum(void *const *operands);         // two of [2, 4]
void cel_probe_fill_norm(void *const *operands);        // [2, 4] and [4]
void cel_probe_fill_one(void *const *operands);         // [2, 4] alone
void cel_probe_fill_projection(void *const *operands);  // [2, 4] and [3, 4]
void cel_probe_fill_rope(void *const *operands);
void cel_probe_fill_scan(void *const *operands);

void cel_probe_dequant(const void *const *operands, float *y);
void cel_probe_matmul(const void *const *operands, float *y);
void cel_probe_add(const void *const *operands, float *y);
void cel_probe_rms_norm(const void *const *operands, float *y);
void cel_probe_layer_norm(const void *const *operands, float *y);
void cel_probe_softmax(const void *const *operands, float *y);
void cel_probe_silu(const void *const *operands, float *y);
void cel_probe_gelu(const void *const *operands, float *y);
void cel_probe_rope(const void *const *operands, float *y);
void cel_probe_scan(const void *const *operands, float *y);

extern const char cel_probe_text_dequant[], cel_probe_text_matmul[], cel_probe_text_add[], cel_probe_text_rms_norm[],
    cel_probe_text_layer_norm[], cel_probe_text_softmax[], cel_probe_text_silu[], cel_probe_text_gelu[], cel_probe_text_rope[],
    cel_probe_text_scan[];

#endif
