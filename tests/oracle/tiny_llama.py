"""Tiny checkpoints of the families that are a Llama block with switches: ropes, biases, windows, q and k norms."""
from tiny import DROP, PLAIN, Tiny

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
SMALL = dict(vocab_size=128)
MINISTRAL3 = dict(YARN, rope_theta=1000000.0, factor=16.0, original_max_position_embeddings=8, mscale=1.0, mscale_all_dim=1.0,
                  beta_fast=32.0, beta_slow=1.0, llama_4_scaling_beta=0.1)
OLMO3_FULL = {"rope_type": "yarn", "rope_theta": 500000.0, "factor": 8.0, "original_max_position_embeddings": 32,
              "attention_factor": 1.2, "beta_fast": 32.0, "beta_slow": 1.0}
OLMO3_PLAIN = {"rope_type": "default", "rope_theta": 500000.0}
MUP = dict(attention_multiplier=1 / 8, embedding_multiplier=2.0, residual_multiplier=0.5, logits_scaling=0.5)

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
    "ministral": Tiny("Ministral", "one full layer, one that slides",
                      dict(SMALL, head_dim=32, sliding_window=8, layer_types=["full_attention", "sliding_attention"],
                           rope_parameters=PLAIN),
                      dict(layer_types=["full_attention", "sliding_attention"]),
                      off={"schedule": dict(layer_types=["sliding_attention", "sliding_attention"])}),
    "ministral3": Tiny("Ministral3", "queries that grow past the original context, yarn",
                       dict(SMALL, max_position_embeddings=128, head_dim=32, rope_parameters=MINISTRAL3),
                       off={"scaling": dict(rope_parameters=dict(MINISTRAL3, llama_4_scaling_beta=0.0))}),
    "smollm3": Tiny("SmolLM3", "a layer without rope", dict(SMALL, no_rope_layer_interval=2, tie_word_embeddings=True,
                                                           rope_parameters=PLAIN), dict(no_rope_layers=DROP),
                    off={"rope": dict(no_rope_layers=[1, 1])}),
    "olmo3": Tiny("Olmo3", "a rope for each kind of layer, yarn with an amplitude of its own",
                  dict(SMALL, num_hidden_layers=4, sliding_window=8,
                       rope_parameters={"full_attention": OLMO3_FULL, "sliding_attention": OLMO3_PLAIN}),
                  dict(rope_theta=500000.0, rope_scaling={k: v for k, v in OLMO3_FULL.items() if k != "rope_theta"}),
                  off={"window": dict(sliding_window=4096), "factor": dict(rope_parameters={
                      "full_attention": dict(OLMO3_FULL, attention_factor=1.0), "sliding_attention": OLMO3_PLAIN})}),
    "ernie": Tiny("Ernie4_5", "interleaved rope, biases everywhere", dict(SMALL, head_dim=32, use_bias=True, rope_parameters=PLAIN)),
    "seedoss": Tiny("SeedOss", "biases on q, k and v", dict(SMALL, head_dim=32, attention_bias=True, rope_parameters=PLAIN)),
    "seedoss-o": Tiny("SeedOss", "a bias on the attention's output too",
                      dict(SMALL, head_dim=32, attention_bias=True, attention_out_bias=True, rope_parameters=PLAIN)),
    "internlm3": Tiny("InternLM3", "one name for q, k, v and o biases, one for the MLP's; dynamic NTK",
                      dict(SMALL, head_dim=32, qkv_bias=True, bias=True, max_position_embeddings=32,
                           rope_parameters=dict(PLAIN, rope_type="dynamic", factor=6.0)),
                      lambda c: dict({k: v for k, v in c.items() if k not in ("attention_bias", "mlp_bias")},
                                     qkv_bias=True, bias=True), stale=True),
    "exaone3": Tiny("Exaone", "names of GPT-2, tied", dict(SMALL, tie_word_embeddings=True, rope_parameters=LLAMA3),
                    dict(num_layers=2, num_hidden_layers=DROP, layer_norm_epsilon=1e-5, rms_norm_eps=DROP,
                         activation_function="silu", hidden_act=DROP)),
    "exaone4": Tiny("Exaone4", "norms after the sublayers, full layers without rope",
                    dict(SMALL, num_hidden_layers=4, sliding_window=8, sliding_window_pattern=4, rope_parameters=PLAIN),
                    off={"window": dict(sliding_window=None, layer_types=["full_attention"] * 4)},
                    unread=dict(sliding_window_pattern="LLLG")),
    "exaone4-full": Tiny("Exaone4", "without a window every layer has rope",
                         dict(SMALL, sliding_window=None, layer_types=["full_attention"] * 2, rope_parameters=PLAIN),
                         dict(layer_types=["full_attention"] * 2)),
    "arcee": Tiny("Arcee", "an MLP without a gate, squared relu", dict(SMALL, head_dim=32, rope_parameters=PLAIN)),
    "hyperclovax": Tiny("HyperCLOVAX", "norms before and after, multipliers; logits are multiplied",
                        dict(SMALL, **MUP, use_post_norm=True, rope_parameters=PLAIN)),
    "hunyuan": Tiny("HunYuanDenseV1", "q and k norms after rope, a rope base stretched by alpha",
                    dict(SMALL, head_dim=32, rope_parameters=dict(PLAIN, rope_type="dynamic", factor=1.0, alpha=100.0)),
                    off={"alpha": dict(rope_parameters=dict(PLAIN, rope_type="dynamic", factor=1.0, alpha=1.0))}),
    "nemotron": Tiny("Nemotron", "norms with a mean, 1 + w and a bias; squared relu; half the head rotated",
                     dict(SMALL, head_dim=32, rope_parameters=dict(PLAIN, partial_rotary_factor=0.5))),
    "apertus": Tiny("Apertus", "xIELU with two learnt numbers a layer, q and k norms, no gate",
                    dict(SMALL, rope_parameters=LLAMA3)),
}
