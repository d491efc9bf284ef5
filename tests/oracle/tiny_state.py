"""Tiny checkpoints of the families that keep a recurrent state: short convolutions, gated delta nets."""
from tiny import Tiny
from tiny_dense import rope
from tiny_moe import EXPERTS

LFM = dict(vocab_size=128, num_hidden_layers=3, layer_types=["conv", "full_attention", "conv"], rope_parameters=rope(1000000.0))
LFM_MOE = dict(LFM, num_dense_layers=1, use_expert_bias=True, norm_topk_prob=True)

STATE = {
    "lfm2": Tiny("Lfm2", "short convolutions and their state; the width of the MLP by its rule",
                 dict(LFM, block_auto_adjust_ff_dim=True, intermediate_size=96, block_multiple_of=32)),
    "lfm2moe": Tiny("Lfm2Moe", "and experts with a sigmoid router, one dense layer",
                    dict(EXPERTS, **LFM_MOE)),
    "qwen3next": Tiny("Qwen3Next", "gated delta nets, a gate on attention's output, 1 + w, a shared expert behind a gate",
                      dict(EXPERTS, num_hidden_layers=4, head_dim=32, shared_expert_intermediate_size=32,
                           linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=16, linear_value_head_dim=16,
                           norm_topk_prob=True, decoder_sparse_step=1,
                           rope_parameters=rope(partial_rotary_factor=0.25)), slack=10.0,
                      off={"partial": dict(rope_parameters=rope(partial_rotary_factor=1.0))}),
}
