"""Tiny checkpoints of the families with latent attention (MLA)."""
from tiny import PLAIN, Tiny
from tiny_dense import rope

RANKS = dict(vocab_size=128, kv_lora_rank=32, qk_nope_head_dim=32, qk_rope_head_dim=32, v_head_dim=32, num_key_value_heads=2)
MOE = dict(n_routed_experts=8, num_experts_per_tok=2, moe_intermediate_size=32, first_k_dense_replace=1)
V2_ROPE = rope(kind="yarn", factor=40.0, mscale=0.707, mscale_all_dim=0.707, original_max_position_embeddings=64,
               beta_fast=32.0, beta_slow=1.0)
V3_ROPE = dict(V2_ROPE, mscale=1.0, mscale_all_dim=1.0)
V3 = dict(RANKS, **MOE, q_lora_rank=32, n_shared_experts=1, n_group=4, topk_group=2, routed_scaling_factor=2.5,
          norm_topk_prob=True, rope_parameters=V3_ROPE)
# The original context lies between the two cases: the short one never leaves it, the long one starts beyond it.
CPM_ROPE = rope(kind="longrope", original_max_position_embeddings=88, short_factor=[1.0 + 0.05 * i for i in range(16)],
                long_factor=[1.0 + 0.5 * i for i in range(16)])

MLA = {
    "dsv2": Tiny("DeepseekV2", "MLA without a q rank, groups of experts, yarn's square in the scale of scores",
                 dict(RANKS, **MOE, num_hidden_layers=2, q_lora_rank=None, n_shared_experts=2, n_group=4, topk_group=1,
                      topk_method="group_limited_greedy", routed_scaling_factor=2.0, rope_parameters=V2_ROPE),
                 off={"groups": dict(topk_method="greedy"), "yarn": dict(rope_parameters=PLAIN),
                      "square": dict(rope_parameters=dict(V2_ROPE, mscale_all_dim=0.0, mscale=0.0))}),
    "dsv3": Tiny("DeepseekV3", "MLA with a q rank, the sigmoid router with bias and groups, interleaved rope",
                 dict(V3), off={"interleave": dict(rope_interleave=False), "groups": dict(topk_group=4),
                                "square": dict(rope_parameters=dict(V3_ROPE, mscale_all_dim=0.0, mscale=0.0))}),
    "dsv3-half": Tiny("DeepseekV3", "rope on halves", dict(V3, rope_interleave=False)),
    "youtu": Tiny("Youtu", "MLA with dense MLPs, tied",
                  dict(RANKS, q_lora_rank=32, tie_word_embeddings=True, rope_parameters=rope(1600000.0)),
                  off={"interleave": dict(rope_interleave=False)}),
    "minicpm3": Tiny("MiniCPM3", "MLA with half rope, longrope on both sides of its original context, multipliers; eps 1e-6 inside",
                     dict(RANKS, q_lora_rank=32, scale_emb=12, scale_depth=1.4, dim_model_base=512, rms_norm_eps=1e-5,
                          tie_word_embeddings=True, rope_parameters=CPM_ROPE), std={"embed_tokens": 0.012},
                     cases=((24, 64), (96, 64)),
                     off={"depth": dict(scale_depth=1.0), "base": dict(dim_model_base=64),
                          "rope": dict(rope_parameters=PLAIN)}),
}
