"""Tiny checkpoints of the families that are a Llama block with switches: ropes, biases, windows, q and k norms."""
from tiny import PLAIN, Tiny

LLAMA3 = {"rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 64}
YARN = {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 64}
GEMMA_ROPE = {"full_attention": {"rope_type": "default", "rope_theta": 1000000.0},
              "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}
GEMMA_LINEAR = {"full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1000000.0},
                "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}
GEMMA_OLD = {"rope_theta": 1000000.0, "rope_local_base_freq": 10000.0, "sliding_window_pattern": 3}
GEMMA = dict(num_hidden_layers=4, query_pre_attn_scalar=32, sliding_window=8, sliding_window_pattern=3)
GEMMA_STD = {"embed_tokens": 0.017}

LLAMAS = {
    "llama3": Tiny("Llama", "Llama 3's rope, all three zones of wavelengths",
                   dict(num_attention_heads=4, num_key_value_heads=2, head_dim=32, intermediate_size=128,
                        rope_parameters=LLAMA3), off={"rope": dict(rope_parameters=dict(PLAIN, rope_theta=500000.0))}),
    "llama-linear": Tiny("Llama", "biases on all projections, tied, linear rope",
                         dict(attention_bias=True, mlp_bias=True, tie_word_embeddings=True,
                              rope_parameters=dict(PLAIN, rope_type="linear", factor=4.0)),
                         off={"rope": dict(rope_parameters=PLAIN)}),
    "llama-dyn": Tiny("Llama", "dynamic NTK, in the prompt and while decoding",
                      dict(max_position_embeddings=32, rope_parameters=dict(PLAIN, rope_type="dynamic", factor=4.0)),
                      off={"rope": dict(rope_parameters=PLAIN)}, stale=True),
    "llama-yarn": Tiny("Llama", "a head width that is not H/N, yarn and its amplitude",
                       dict(head_dim=64, rope_parameters=YARN), off={"rope": dict(rope_parameters=PLAIN)}),
    "mistral": Tiny("Mistral", "a window on all layers", dict(sliding_window=8, rope_parameters=PLAIN),
                    off={"window": dict(sliding_window=None)}),
    "qwen2": Tiny("Qwen2", "biases on q, k and v, upper layers slide",
                  dict(use_sliding_window=True, sliding_window=8, max_window_layers=1, tie_word_embeddings=True,
                       rope_parameters=PLAIN), off={"window": dict(use_sliding_window=False, layer_types=None)}),
    "qwen3": Tiny("Qwen3", "q and k norms by head",
                  dict(head_dim=64, intermediate_size=128, tie_word_embeddings=True, rope_parameters=PLAIN)),
    "gemma3": Tiny("Gemma3", "two rope bases, four norms, q and k norms with 1 + w",
                   dict(GEMMA, head_dim=64, rope_parameters=GEMMA_ROPE), GEMMA_OLD,
                   off={"window": dict(sliding_window=4096)}, std=GEMMA_STD),
    "gemma3-linear": Tiny("Gemma3", "a scaled rope on full layers only",
                          dict(GEMMA, head_dim=32, rope_parameters=GEMMA_LINEAR),
                          dict(GEMMA_OLD, rope_scaling={"rope_type": "linear", "factor": 8.0}),
                          off={"rope": dict(rope_parameters=GEMMA_ROPE)}, std=GEMMA_STD),
}
