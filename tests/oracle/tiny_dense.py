"""Tiny checkpoints of the dense families that are not a Llama block: other norms, other places, fused tensors, multipliers."""
from tiny import PLAIN, Tiny


def rope(theta=10000.0, kind="default", **more):
    return dict({"rope_type": kind, "rope_theta": theta}, **more)


# Lists of one number for each of the 8 frequencies of a rotary width of 16.
LONG = rope(kind="longrope", partial_rotary_factor=0.5, short_factor=[1.0, 1.1, 1.2, 1.3, 1.5, 1.7, 2.0, 2.2],
            long_factor=[1.0, 1.5, 2.0, 3.0, 5.0, 8.0, 12.0, 16.0], original_max_position_embeddings=16)
PHI3 = dict(original_max_position_embeddings=16, rope_parameters=LONG)
GRANITE = dict(attention_multiplier=1 / 8, embedding_multiplier=12.0, residual_multiplier=0.5, logits_scaling=0.125,
               tie_word_embeddings=True, rope_parameters=PLAIN)
GRANITE_STD = {"embed_tokens": 0.012}



DENSE = {
    "olmo1": Tiny("Olmo", "norms without weights, clipped q, k and v",
                  dict(clip_qkv=0.5, rope_parameters=PLAIN), off={"clip": dict(clip_qkv=None)}),
    "olmo2": Tiny("Olmo2", "norms after the sublayers, q and k norms over the whole projection", dict(rope_parameters=PLAIN)),
    "cohere": Tiny("Cohere", "attention and MLP in parallel, norms with a mean, a q and k norm of its own for every head",
                   dict(use_qk_norm=True, attention_bias=True, logit_scale=0.0625, rope_parameters=PLAIN),
                   off={"scale": dict(logit_scale=1.0)}, std={"embed_tokens": 0.4}),
    "stablelm": Tiny("StableLm", "norms with biases, a quarter of the head rotated, a q and k norm for every head",
                     dict(use_qkv_bias=True, qk_layernorm=True, rope_parameters=rope(partial_rotary_factor=0.25)),
                     off={"partial": dict(rope_parameters=rope(partial_rotary_factor=1.0))}),
    "stablelm-par": Tiny("StableLm", "one norm for attention and MLP",
                         dict(use_parallel_residual=True, rope_parameters=rope(partial_rotary_factor=0.25))),
    "starcoder2": Tiny("Starcoder2", "an MLP without a gate, biases everywhere, a window on all layers",
                       dict(sliding_window=8, tie_word_embeddings=True, rope_parameters=PLAIN),
                       off={"window": dict(sliding_window=None)}),
    "phi3-long": Tiny("Phi3", "fused q|k|v and gate|up, longrope beyond its original context",
                      dict(PHI3), afresh=True,
                      off={"longrope": dict(rope_parameters=rope(partial_rotary_factor=0.5))}),
    "phi3-short": Tiny("Phi3", "longrope within its original context, and decoding out of it",
                       dict(PHI3), afresh=True, cases=((10, 6), (12, 64))),
    "glm4": Tiny("Glm4", "four norms under other names, interleaved partial rope",
                 dict(head_dim=64, attention_bias=True, rope_parameters=rope(partial_rotary_factor=0.5)),
                 off={"partial": dict(rope_parameters=rope(partial_rotary_factor=1.0))}),
    "glm": Tiny("Glm", "fused gate|up, interleaved partial rope",
                dict(head_dim=32, attention_bias=True, rope_parameters=rope(partial_rotary_factor=0.5)),
                off={"partial": dict(rope_parameters=rope(partial_rotary_factor=1.0))}),
    "granite": Tiny("Granite", "multipliers of embedding, residual, attention and logits", GRANITE, std=GRANITE_STD,
                    off={"attention": dict(attention_multiplier=32 ** -0.5), "residual": dict(residual_multiplier=1.0),
                         "embedding": dict(embedding_multiplier=1.0), "logits": dict(logits_scaling=1.0)}),
    "gemma1": Tiny("Gemma", "embedding times sqrt(H), 1 + w, tanh-gelu, one kv head",
                   dict(head_dim=64, rope_parameters=PLAIN), legacy=dict(hidden_act="gelu"), std={"embed_tokens": 0.017}),
    "gemma2": Tiny("Gemma2", "soft caps on scores and logits, four norms, every other layer slides",
                   dict(num_hidden_layers=3, head_dim=64, query_pre_attn_scalar=32, sliding_window=8,
                        attn_logit_softcapping=2.0, final_logit_softcapping=0.5, rope_parameters=PLAIN),
                   std={"embed_tokens": 0.017},
                   off={"attention cap": dict(attn_logit_softcapping=None), "final cap": dict(final_logit_softcapping=None),
                        "window": dict(sliding_window=4096)}),
    "cohere2": Tiny("Cohere2", "rope on the layers that slide only",
                    dict(vocab_size=128, num_hidden_layers=4, sliding_window=8, logit_scale=0.25, rope_parameters=PLAIN),
                    dict(sliding_window_pattern=4), std={"embed_tokens": 0.4}, off={"window": dict(sliding_window=4096)}),
}
