#!/usr/bin/env python3
"""Write the seed corpora of the model-file fuzzers: tests/fuzz/corpus/{gguf,safetensors,convert}/.

    make_model_seeds.py [CORPUSDIR]

Tiny files of every family, quantization and metadata kind that the readers know; for conversions, the models of
tests/data/oracle as words (convert_fuzz.c says which). Needs: numpy, gguf, safetensors.
"""
import json, os, struct, sys
import numpy as np
import gguf
from safetensors.numpy import save

corpus = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..", "fuzz", "corpus")


def model(name, arch, extra=lambda w: None, tokenizer=None, quant=None):
    w = gguf.GGUFWriter(os.path.join(corpus, "gguf", name), arch)
    w.add_block_count(1); w.add_context_length(64); w.add_embedding_length(32); w.add_feed_forward_length(32)
    w.add_head_count(2); w.add_head_count_kv(1); w.add_layer_norm_rms_eps(1e-6); w.add_rope_freq_base(1e4)
    extra(w)
    if tokenizer:
        w.add_tokenizer_model(tokenizer); w.add_tokenizer_pre("default")
        w.add_token_list(["<unk>", "<s>", "</s>", "a", "<|im_end|>"]); w.add_token_types([2, 3, 3, 1, 3])
        if tokenizer == "llama":
            w.add_token_scores([0.0, -1.0, -2.0, -3.0, -4.0])
        else:
            w.add_token_merges(["a a"])
        w.add_bos_token_id(1); w.add_eos_token_id(2); w.add_add_bos_token(True); w.add_add_space_prefix(False)
        w.add_chat_template("{{ messages }}")
    kind = quant or gguf.GGMLQuantizationType.F32
    block, size = gguf.GGML_QUANT_SIZES[kind]
    cols = max(32, block)
    w.add_tensor("token_embd.weight", np.zeros((2, cols // block * size), np.uint8), raw_dtype=kind)
    w.add_tensor("blk.0.attn_norm.weight", np.ones(32, np.float32))
    w.add_tensor("output_norm.weight", np.ones(4, np.float16))
    w.write_header_to_file(); w.write_kv_data_to_file(); w.write_tensors_to_file(); w.close()


def yarn(w):
    w.add_rope_scaling_type(gguf.RopeScalingType.YARN); w.add_rope_scaling_factor(4.0)
    w.add_rope_scaling_orig_ctx_len(16); w.add_key_length(8); w.add_value_length(8); w.add_rope_dimension_count(4)


def gemma(w):
    w.add_sliding_window(16); w.add_key_length(16); w.add_value_length(16)
    w.add_rope_scaling_type(gguf.RopeScalingType.LINEAR); w.add_rope_scaling_factor(8.0)


def phi(w):
    w.add_rope_scaling_orig_ctx_len(16); w.add_sliding_window(8)
    for name in ("long", "short"):
        w.add_tensor("rope_factors_%s.weight" % name, np.full(4, 1.5, np.float32))


def latent(w):
    w.add_kv_lora_rank(8); w.add_q_lora_rank(8); w.add_key_length(16); w.add_key_length_mla(12); w.add_value_length_mla(8)
    w.add_rope_dimension_count(4); w.add_expert_count(4); w.add_expert_used_count(2); w.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID)
    w.add_expert_group_count(2); w.add_expert_group_used_count(1); w.add_leading_dense_block_count(1)
    w.add_rope_scaling_type(gguf.RopeScalingType.YARN); w.add_rope_scaling_factor(40.0)
    w.add_rope_scaling_yarn_log_mul(0.07); w.add_nextn_predict_layers(0)


def conv(w):
    w.add_shortconv_l_cache(3)


def slides(w):
    w.add_sliding_window(8); w.add_sliding_window_pattern([True])


def odd(w):
    w.add_uint8("odd.u8", 1); w.add_int8("odd.i8", -1); w.add_uint16("odd.u16", 2); w.add_int16("odd.i16", -2)
    w.add_uint64("odd.u64", 3); w.add_int64("odd.i64", -3); w.add_float64("odd.f64", 0.5)
    w.add_array("odd.nested", [[1, 2], [3]]); w.add_array("odd.bools", [True, False]); w.add_array("odd.floats", [1.5])


def gguf_seeds():
    kinds = gguf.GGMLQuantizationType
    model("llama.gguf", "llama", odd, "gpt2")
    model("qwen2_yarn.gguf", "qwen2", yarn, "gpt2")
    model("gemma3.gguf", "gemma3", gemma, "llama")
    model("phi3.gguf", "phi3", phi)
    model("deepseek2.gguf", "deepseek2", latent)
    model("lfm2.gguf", "lfm2", conv)
    model("exaone4.gguf", "exaone4", slides)
    for name in ("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K", "BF16"):
        model(f"{name.lower()}.gguf", "qwen3", quant=kinds[name])
    base = (b"GGUF" + struct.pack("<IQQQ", 3, 1, 1, 17) + b"general.alignment" + struct.pack("<II", 4, 32)
            + struct.pack("<Q", 1) + b"t" + struct.pack("<IQIQ", 1, 4, 0, 0))
    open(os.path.join(corpus, "gguf", "smallest.gguf"), "wb").write(base.ljust(128, b"\0"))


def safetensors_seed(name, tensors, **kw):
    open(os.path.join(corpus, "safetensors", name), "wb").write(save(tensors, **kw))


def safetensors_seeds():
    f16 = np.ones((2, 2), np.float16)
    safetensors_seed("plain.safetensors", {"model.a.weight": np.ones((2, 4), np.float32), "b": f16[0]}, metadata={"format": "pt"})
    for module, words, groups in (("model.x", 16, 2), ("a", 32, 2), ("model.b", 8, 2)):  # 4, 8 bits; group 32
        safetensors_seed(f"affine_{module}.safetensors", {
            f"{module}.weight": np.zeros((2, words), np.uint32), f"{module}.scales": f16, f"{module}.biases": f16})
    safetensors_seed("wrapped.safetensors", {"language_model.model.norm.weight": f16[0], "vision_tower.x": f16,
                                             "model.layers.0.self_attn.rotary_emb.inv_freq": f16[0]})
    safetensors_seed("empty.safetensors", {"none": np.ones((0, 3), np.int64)})


# ---- conversions: the oracle models, with 32 tokens ---------------------------------------------------

ORACLE = os.path.join(os.path.dirname(__file__), "..", "data", "oracle")
VOCAB = 32
SPECIAL = [{"id": i, "content": c, "special": True, "normalized": False} for i, c in enumerate(["<unk>", "<s>", "</s>"])]
BYTES = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True}
MARK = "\u2581"


def row(kind, **model):
    return {"added_tokens": SPECIAL, "model": dict({"type": kind}, **model)}


def tokenizers():
    vocab = {"<unk>": 0, "<s>": 1, "</s>": 2, "a": 3, "b": 4, "ab": 5, MARK: 6}
    yield dict(row("BPE", vocab=vocab, merges=["a b"]), pre_tokenizer=BYTES, decoder=BYTES)
    yield dict(row("BPE", vocab=dict(vocab, **{"<0x%02X>" % i: 7 + i for i in range(8)}), merges=[["a", "b"]], byte_fallback=True, fuse_unk=True,
                   unk_token="<unk>"),
               normalizer={"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": MARK},
                                                               {"type": "Replace", "pattern": {"String": " "}, "content": MARK}]},
               decoder={"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": MARK}, "content": " "}, {"type": "ByteFallback"},
                                                         {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]})
    yield dict(row("Unigram", vocab=[[t, -i] for i, t in enumerate(vocab)], unk_id=0), pre_tokenizer={"type": "Metaspace", "replacement": MARK},
               decoder={"type": "Metaspace", "replacement": MARK})
    words = {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "a": 3, "##b": 4}
    yield dict(row("WordPiece", vocab=words, unk_token="[UNK]", continuing_subword_prefix="##"), added_tokens=[],
               normalizer={"type": "BertNormalizer", "lowercase": True}, pre_tokenizer={"type": "BertPreTokenizer"}, decoder={"type": "WordPiece"},
               post_processor={"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]})


def tensor_line(name, kind, dims, vocab):
    return " ".join([name, kind] + [str(VOCAB if d == vocab and ("embed" in name or "embd" in name or "wte" in name or "head" in name or name == "output.weight") else d)
                                    for d in dims])


def folder_words(folder, tokenizer):
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as f:
        config = json.load(f)
    with open(os.path.join(folder, "model.safetensors"), "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
    header.pop("__metadata__", None)
    vocab = config.get("vocab_size", 0)
    if "vocab_size" in config:
        config["vocab_size"] = VOCAB
    parts = [json.dumps(config), json.dumps(tokenizer), json.dumps({"bos_token": "<s>", "eos_token": "</s>", "chat_template": "{{ messages }}"}),
             "\n".join(tensor_line(k, v["dtype"], v["shape"], vocab) for k, v in header.items())]
    return "\0".join(parts).encode()


def value_line(field):
    kinds = gguf.GGUFValueType
    t, v = field.types[0], field.contents()
    if t == kinds.ARRAY:
        letter = {kinds.STRING: "S", kinds.FLOAT32: "F", kinds.BOOL: "B"}.get(field.types[-1], "I")
        if field.name.startswith("tokenizer.ggml.") and len(v) > VOCAB:
            v = v[:VOCAB]
        return "%s %s %s" % (letter, field.name, "\t".join(str(round(max(min(x, 1e6), -1e6) * 1000) if letter == "F" else x if letter == "S" else int(x)) for x in v))
    letter = {kinds.STRING: "s", kinds.FLOAT32: "f", kinds.BOOL: "b", kinds.INT32: "i"}.get(t, "u")
    return "%s %s %s" % (letter, field.name, round(v * 10**9) if letter == "f" else v if letter == "s" else VOCAB if field.name.endswith("vocab_size") else int(v))


def gguf_words(path):
    r = gguf.GGUFReader(path)
    lines = [value_line(f) for k, f in r.fields.items() if not k.startswith("GGUF.")]
    vocab = next((int(f.contents()) for k, f in r.fields.items() if k.endswith("vocab_size")), 256)
    words = ["s tokenizer.ggml.model gpt2", "s tokenizer.ggml.pre gpt-2", "S tokenizer.ggml.tokens a\tb\tab\t<s>\t</s>", "I tokenizer.ggml.token_type 1\t1\t1\t3\t3",
             "S tokenizer.ggml.merges a b", "u tokenizer.ggml.bos_token_id 3", "u tokenizer.ggml.eos_token_id 4"]
    if not any("tokenizer.ggml.tokens" in line for line in lines):
        lines += words
    tensors = [tensor_line(t.name, t.tensor_type.name, [int(d) for d in reversed(t.shape)], vocab) for t in r.tensors]
    return ("\n".join(lines) + "\0" + "\n".join(tensors)).encode()


def convert_seeds():
    make = list(tokenizers())
    n = 0
    for name in sorted(os.listdir(ORACLE)):
        path = os.path.join(ORACLE, name)
        is_gguf = os.path.exists(os.path.join(path, "model.gguf"))
        if not is_gguf and not os.path.exists(os.path.join(path, "model.safetensors")):
            continue
        words = gguf_words(os.path.join(path, "model.gguf")) if is_gguf else folder_words(path, make[n % len(make)])
        letters = "%d%d%d%s" % (is_gguf, (n // 3) % 2 if name.endswith("q4g32") else 1 - is_gguf, n % 4, "0" if n % 3 else chr(48 + n % 10))
        with open(os.path.join(corpus, "convert", name), "wb") as f:
            f.write(letters.encode() + words)
        n += 1


for kind in ("gguf", "safetensors", "convert"):
    os.makedirs(os.path.join(corpus, kind), exist_ok=True)
gguf_seeds()
safetensors_seeds()
convert_seeds()
