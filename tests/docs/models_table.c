// Prints docs/models.md: the families, from the tables that `mlxcel arch` prints.
#include <stdio.h>
#include <string.h>

#include "arch/verified.h"
#include "base/macros.h"

static const char intro[] =
    "# Models\n"
    "\n"
    "<!-- Printed by tests/docs/models_table.c; `make docs` writes it anew. -->\n"
    "\n"
    "A checkpoint is run when its `model_type` (in `config.json`; with or without `_text` behind it, at the root or in\n"
    "`text_config`) or, in a GGUF file, its `general.architecture` is one of these. Any other is refused by name.\n"
    "\n"
    "Weights: safetensors in F32, F16 and BF16 under the names transformers saves and the ones mlx-lm saves; MLX\n"
    "quantizations (affine with 2, 3, 4, 5, 6 and 8 bits in groups of 32, 64, 128; mxfp4, mxfp8, nvfp4); GGUF with the\n"
    "block formats of the README where the family has a GGUF name.\n"
    "\n"
    "Files in eight-bit floats as DeepSeek-V3 and Ministral 3 are published (`quant_method` `fp8`: E4M3 with `weight_scale_inv` by\n"
    "block or by matrix) run as they are: a value is f32(E4M3 * scale), and activations stay in f32, whatever `activation_scheme`\n"
    "says. Opening such a file spreads the scales over the rows, which takes 3 % of the weights' bytes in memory.\n"
    "\n"
    "Adapters (LoRA) go beside the linear weights of any family read from safetensors: `--adapter DIR` takes a folder as PEFT\n"
    "(`adapter_model.safetensors`) or mlx-lm (`adapters.safetensors`) writes it, `--adapter NAME` one that the checkpoint carries\n"
    "itself (Phi-4-multimodal: `speech`, `vision`). Nothing is merged: y = W x + scale * B (A x), so the base may be quantized.\n"
    "Adapters of embeddings, of experts and of latent attention's second matrix, and DoRA, are refused by name.\n"
    "\n"
    "Refused by name: layers of Mamba (Granite 4's hybrids), attention within chunks (`attention_chunk_size`, `chunked_attention`:\n"
    "Llama 4's; no family of this list has it), embedding models that look both ways.\n"
    "\n"
    "*Proved by* names folders of `tests/data/oracle`: small random checkpoints with one of the family's branches switched\n"
    "on, and what transformers computes on them in f32 (eager attention). The logits must be within 2e-4 of the largest\n"
    "one, and 64 greedy tokens the same. Where no class or published file says how a family is, the last column says what\n"
    "the entry rests on.\n"
    "\n"
    "| family | model_type | GGUF | what is special | proved by | rests on |\n"
    "|---|---|---|---|---|---|\n";

static void words(const char *const *list, int most) {
  for (int i = 0; i < most && list[i]; i++) printf("%s`%s`", i ? " " : "", list[i]);
}

static void folders(const char *list) {
  for (const char *comma = ""; *list; comma = ", ") {
    int n = (int)strcspn(list, " ");
    printf("%s%.*s", comma, n, list);
    list += n;
    while (*list == ' ') list++;
  }
}

int main(void) {
  fputs(intro, stdout);
  for (int i = 0; cel_families[i]; i++) {
    const cel_family *f = cel_families[i];
    const cel_verified *v = cel_verified_of(f);
    printf("| %s | ", f->name);
    words(f->model_types, CEL_COUNT(f->model_types));
    printf(" | ");
    words(f->gguf_archs, CEL_COUNT(f->gguf_archs));
    printf(" | %s | ", f->special ? f->special : "");
    folders(v ? v->folders : "");
    printf(" | %s |\n", v ? v->rests : "");
  }
  return fflush(stdout) == 0 ? 0 : 1;
}
