"""Tiny checkpoints of the families with experts: every router, shared experts, dense layers among sparse ones."""
from contextlib import contextmanager

import torch
from transformers.models.phimoe import modeling_phimoe

from tiny import PLAIN, Tiny
from tiny_dense import GRANITE, GRANITE_STD, rope

SMALL = dict(vocab_size=128)
EXPERTS = dict(SMALL, num_experts=8, num_experts_per_tok=2, moe_intermediate_size=32)
GPT_ROPE = dict(rope(150000.0, "yarn", factor=32.0, original_max_position_embeddings=16, beta_fast=32.0, beta_slow=1.0),
                truncate=False)
GPT = dict(SMALL, head_dim=32, num_local_experts=4, num_experts_per_tok=2, intermediate_size=32, sliding_window=8,
           rope_parameters=GPT_ROPE)
PHI = dict(SMALL, num_local_experts=4, num_experts_per_tok=2, intermediate_size=32, attention_bias=True, lm_head_bias=True)
# The amplitudes of its own longrope; no case crosses the original context while decoding.
PHI_ROPE = rope(kind="longrope", short_mscale=1.25, long_mscale=1.5, original_max_position_embeddings=88,
                short_factor=[1.0 + 0.1 * i for i in range(16)], long_factor=[1.0 + 0.5 * i for i in range(16)])


@contextmanager
def sparsemixer_margins():
    """phimoe's router: how near each choice and each masking is to turning out differently."""
    margins, original = [], modeling_phimoe.sparsemixer

    def watched(scores, jitter_eps, training, top_k=2):
        left = scores.clone()
        for _ in range(2):
            best = left.topk(2).values
            margins.append(float((best[..., 0] - best[..., 1]).min()))
            ratio = (best[..., :1] - scores) / scores.abs().clamp(min=best[..., :1])
            margins.append(float((ratio - 2 * jitter_eps).abs().min()))
            left = left.scatter(-1, left.argmax(-1, keepdim=True), float("-inf"))
        return original(scores, jitter_eps, training, top_k)

    modeling_phimoe.sparsemixer = watched
    try:
        yield margins
    finally:
        modeling_phimoe.sparsemixer = original


MOE = {
    "mixtral": Tiny("Mixtral", "w1, w3, w2; router weights divided by their sum",
                    dict(SMALL, num_local_experts=4, num_experts_per_tok=2, intermediate_size=32, rope_parameters=PLAIN)),
    "qwen3moe": Tiny("Qwen3Moe", "q and k norms, one dense layer, router weights divided by their sum",
                     dict(EXPERTS, head_dim=32, norm_topk_prob=True, mlp_only_layers=[0],
                          decoder_sparse_step=1, rope_parameters=PLAIN), off={"renorm": dict(norm_topk_prob=False)}),
    "qwen2moe": Tiny("Qwen2Moe", "dense and sparse layers in turn, a shared expert behind a gate, weights not divided",
                     dict(EXPERTS, shared_expert_intermediate_size=64, decoder_sparse_step=2,
                          norm_topk_prob=False, rope_parameters=PLAIN), off={"renorm": dict(norm_topk_prob=True)}),
    "gptoss": Tiny("GptOss", "sinks, experts with biases, a window on every other layer, yarn that does not round",
                   GPT, off={"truncate": dict(rope_parameters=dict(GPT_ROPE, truncate=True)), "window": dict(sliding_window=4096)}),
    "gptoss-limit": Tiny("GptOss", "the clamp of the experts' activations", dict(GPT, swiglu_limit=0.2),
                         off={"limit": dict(swiglu_limit=7.0)}),
    "olmoe": Tiny("Olmoe", "q and k norms over the whole projection, clipped after them",
                  dict(SMALL, num_hidden_layers=1, num_experts=8, num_experts_per_tok=2, intermediate_size=32, clip_qkv=0.5, rope_parameters=PLAIN),
                  off={"clip": dict(clip_qkv=None)}),
    "erniemoe": Tiny("Ernie4_5_Moe", "interleaved rope; a bias that chooses experts but does not weigh them; shared experts",
                     dict(SMALL, moe_num_experts=8, moe_k=2, moe_intermediate_size=32, moe_num_shared_experts=2,
                          moe_layer_start_index=1, moe_layer_end_index=1, moe_layer_interval=1, rope_parameters=PLAIN)),
    "phimoe": Tiny("Phimoe", "sparsemixer: each expert's weight is a softmax over its near rivals; biases, also of the head",
                   dict(PHI, router_jitter_noise=0.01, rope_parameters=PLAIN), probe=sparsemixer_margins),
    "phimoe-wide": Tiny("Phimoe", "sparsemixer with a wide band; longrope with an amplitude for each table",
                        dict(PHI, router_jitter_noise=0.2, rope_parameters=PHI_ROPE), probe=sparsemixer_margins,
                        cases=((24, 64), (96, 64)), off={"jitter": dict(router_jitter_noise=0.01)}),
    "granitemoe": Tiny("GraniteMoe", "softmax over the chosen experts only, gate|up fused in stacks, multipliers",
                       dict(GRANITE, **SMALL, num_local_experts=4, num_experts_per_tok=2, intermediate_size=32), std=GRANITE_STD),
    "granitemoeshared": Tiny("GraniteMoeShared", "and a shared MLP beside the experts",
                             dict(GRANITE, **SMALL, num_local_experts=4, num_experts_per_tok=2, intermediate_size=32,
                                  shared_intermediate_size=64), std=GRANITE_STD),
    "granite4-dense": Tiny("GraniteMoeHybrid", "no experts: the shared MLP alone; with rope",
                           dict(GRANITE, **SMALL, num_local_experts=0, num_experts_per_tok=0, shared_intermediate_size=64,
                                layer_types=["attention", "attention"], position_embedding_type="rope"),
                           dict(layer_types=["attention", "attention"]), std=GRANITE_STD),
    "granite4-nope": Tiny("GraniteMoeHybrid", "no positions at all",
                          dict(GRANITE, **SMALL, num_local_experts=0, num_experts_per_tok=0, shared_intermediate_size=64,
                               layer_types=["attention", "attention"]),
                          dict(layer_types=["attention", "attention"]), std=GRANITE_STD),
    "glm4moe": Tiny("Glm4Moe", "half rope on half the head, q and k norms, the sigmoid router, one dense layer",
                    dict(SMALL, head_dim=32, attention_bias=True, use_qk_norm=True, n_routed_experts=8, num_experts_per_tok=2,
                         moe_intermediate_size=32, n_shared_experts=1, first_k_dense_replace=1, routed_scaling_factor=1.5,
                         n_group=1, topk_group=1, norm_topk_prob=True, rope_parameters=rope(partial_rotary_factor=0.5)),
                    off={"scale": dict(routed_scaling_factor=1.0)}),
    "dots1": Tiny("Dots1", "Qwen3's attention with the sigmoid router",
                  dict(SMALL, head_dim=32, n_routed_experts=8, num_experts_per_tok=2, moe_intermediate_size=32,
                       n_shared_experts=1, first_k_dense_replace=1, routed_scaling_factor=1.5, n_group=1, topk_group=1,
                       norm_topk_prob=True, rope_parameters=PLAIN)),
    "exaonemoe": Tiny("ExaoneMoe", "EXAONE 4's attention in a block with norms before, the sigmoid router",
                      dict(SMALL, head_dim=32, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32,
                           num_shared_experts=1, first_k_dense_replace=1, routed_scaling_factor=1.5, n_group=1, topk_group=1,
                           norm_topk_prob=True, sliding_window=8, sliding_window_pattern=2, rope_parameters=PLAIN)),
}
