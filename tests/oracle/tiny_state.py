"""Tiny checkpoints of the families with a layer of their own: short convolutions, gated delta nets, Gemma 3n."""
from tiny import DROP, Tiny
from tiny_dense import rope
from tiny_moe import EXPERTS

LFM = dict(vocab_size=128, num_hidden_layers=3, layer_types=["conv", "full_attention", "conv"], rope_parameters=rope(1000000.0))
LFM_MOE = dict(LFM, num_experts=4, num_dense_layers=1, use_expert_bias=True, norm_topk_prob=True)
GEMMA3N_ROPE = {"full_attention": rope(1000000.0), "sliding_attention": rope(10000.0)}
GEMMA3N = dict(vocab_size=128, num_hidden_layers=4, head_dim=32, num_kv_shared_layers=2, sliding_window=8,
               layer_types=["sliding_attention", "full_attention", "sliding_attention", "full_attention"],
               vocab_size_per_layer_input=96, hidden_size_per_layer_input=32, laurel_rank=32, altup_num_inputs=3,
               activation_sparsity_pattern=[0.95, 0.0, 0.0, 0.0], intermediate_size=[64, 64, 32, 32],
               final_logit_softcapping=1.0, rope_parameters=GEMMA3N_ROPE)
QWEN35 = dict(vocab_size=128, layer_types=["linear_attention", "full_attention"], head_dim=32, linear_num_key_heads=2,
              linear_num_value_heads=4, linear_key_head_dim=16, linear_value_head_dim=16,
              rope_parameters=rope(partial_rotary_factor=0.25))
QWEN35_OLD = dict(layer_types=QWEN35["layer_types"])

STATE = {
    "gemma3n": Tiny("Gemma3n", "AltUp, LAuReL, an embedding for each layer (row 0 past its end), shared k and v, sparse MLPs",
                    GEMMA3N, dict(layer_types=GEMMA3N["layer_types"], rope_theta=1000000.0, rope_local_base_freq=10000.0,
                                  rope_scaling=None), std={"embed_tokens.": 0.05},
                    off={"sparsity": dict(activation_sparsity_pattern=[0.0] * 4), "window": dict(sliding_window=4096),
                         "scale": dict(altup_correct_scale=False), "cap": dict(final_logit_softcapping=30.0)}, slack=2.0),
    "lfm2": Tiny("Lfm2", "short convolutions and their state; the width of the MLP by its rule",
                 dict(LFM, block_auto_adjust_ff_dim=True, intermediate_size=96, block_multiple_of=32),
                 dict(full_attn_idxs=[1], block_dim=64, block_ff_dim=96, intermediate_size=DROP, block_norm_eps=1e-5,
                      tie_embedding=True, tie_word_embeddings=DROP)),
    "lfm2moe": Tiny("Lfm2Moe", "and experts with a sigmoid router, one dense layer",
                    dict(EXPERTS, **LFM_MOE), dict(layer_types=LFM["layer_types"])),
    "qwen3next": Tiny("Qwen3Next", "gated delta nets, a gate on attention's output, 1 + w, a shared expert behind a gate",
                      dict(EXPERTS, num_experts=4, full_attention_interval=2, head_dim=32, shared_expert_intermediate_size=32,
                           linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=16, linear_value_head_dim=16,
                           norm_topk_prob=True, decoder_sparse_step=1,
                           rope_parameters=rope(partial_rotary_factor=0.25)), legacy=dict(full_attention_interval=2), slack=10.0,
                      off={"partial": dict(rope_parameters=rope(partial_rotary_factor=1.0))}),
    "qwen35": Tiny("Qwen3_5", "the projections of the delta nets apart, dense MLPs", QWEN35, legacy=QWEN35_OLD, slack=10.0,
                   off={"partial": dict(rope_parameters=rope(partial_rotary_factor=1.0))}),
    "qwen35moe": Tiny("Qwen3_5Moe", "and experts with a shared one behind a gate",
                      dict(QWEN35, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32,
                           shared_expert_intermediate_size=32), legacy=QWEN35_OLD, slack=10.0),
}
