"""What every tiny checkpoint shares: how its weights are drawn, saved, judged and its oracle written.

The tables of checkpoints are tiny_<subject>.py; make_tiny.py drives them.
"""
import copy
import json
import os
import shutil
import sys
import tempfile
import zlib
from dataclasses import dataclass, field
from contextlib import nullcontext
from typing import Any, Callable, Optional

import numpy as np
import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING

from reference import DATA, Margins, greedy, greedy_afresh, recomputed, rounded, tolerance, versions, write_json

BASE = dict(vocab_size=256, hidden_size=64, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2,
            num_key_value_heads=1, max_position_embeddings=256, bos_token_id=1, eos_token_id=2, pad_token_id=None)
PLAIN = {"rope_type": "default", "rope_theta": 10000.0}
DROPPED_FROM_LEGACY = ("rope_parameters", "layer_types", "_sliding_window_pattern", "dtype")
DROP = ...  # in Tiny.legacy: old files lack this key


@dataclass
class Tiny:
    kind: str  # <kind>Config and <kind>ForCausalLM of transformers
    proves: str  # the branch that the checkpoint is for
    keys: dict  # over BASE
    legacy: Any = field(default_factory=dict)  # old spellings: a dict of keys, or a function of the derived dict
    off: dict = field(default_factory=dict)  # name: config keys that switch a branch off
    std: dict = field(default_factory=dict)  # part of a weight's name: its standard deviation
    cases: tuple = ((24, 64), (70, 64))  # (prompt length, greedy tokens)
    afresh: bool = False  # the reference forgets its cache where the rope table changes: every token is recomputed
    stale: bool = False  # decoding differs from recomputing by design (dynamic NTK)
    slack: float = 1.0  # on the tolerance
    convert: Optional[Callable] = None  # (config dict, tensors) -> the same, for families without a class
    unread: dict = field(default_factory=dict)  # old spellings that transformers does not read by itself
    then: Optional[Callable] = None  # (name, tiny, folder): more files
    probe: Optional[Callable] = None  # context manager that yields a list of further router margins

    @property
    def classes(self):
        config = getattr(transformers, self.kind + "TextConfig", None) or getattr(transformers, self.kind + "Config")
        return config, MODEL_FOR_CAUSAL_LM_MAPPING[config]


def config_of(name, tiny, changes=None):
    keys = copy.deepcopy(dict(BASE, **tiny.keys))
    keys.update(copy.deepcopy(changes or {}))
    return tiny.classes[0](**keys)


def legacy_of(tiny, new):
    """The config.json an old release wrote for the same model."""
    legacy = {k: copy.deepcopy(v) for k, v in new.items() if k not in DROPPED_FROM_LEGACY}
    legacy["torch_dtype"] = "bfloat16"
    rope = dict(new.get("rope_parameters") or {})
    if "rope_type" in rope:
        legacy["rope_theta"] = rope.pop("rope_theta")
        if "partial_rotary_factor" in rope:
            legacy["partial_rotary_factor"] = rope.pop("partial_rotary_factor")
        legacy["rope_scaling"] = None if rope["rope_type"] == "default" else rope
    if callable(tiny.legacy):
        return tiny.legacy(legacy)
    legacy.update(copy.deepcopy(tiny.legacy))
    return {k: v for k, v in legacy.items() if v is not DROP}


def std_of(key, tied):
    if "embed_tokens" in key or "wte" in key:
        return 0.11 if tied else 0.4
    return 0.4 if "lm_head" in key else 0.22


def fill(model, name, seed, stds):
    """Random weights, exact in bf16; norms near their neutral value, biases around 0."""
    tied = model.config.tie_word_embeddings
    buffers = [(k, b) for k, b in model.state_dict().items() if k.endswith("correction_bias") or k.endswith("expert_bias")]
    for key, p in [*model.named_parameters(), *buffers]:
        g = torch.Generator().manual_seed(zlib.crc32(("%s/%s/%d" % (name, key, seed)).encode()))
        noise = torch.randn(p.shape, generator=g)
        given = [std for part, std in stds.items() if part in key]
        if given:
            p.copy_(given[0] * noise)
        elif "norm" in key:
            p.copy_((1.0 if float(p.mean()) > 0.5 else 0.0) + 0.1 * noise)  # as initialised: 0 where 1 is added
        elif key.endswith("dt_bias") or key.endswith("correct_output_scale"):
            p.copy_(1.0 + 0.1 * noise)
        elif key.endswith("A_log") or key.endswith("sinks"):
            p.copy_(0.5 * noise)
        elif key.endswith("bias"):
            p.copy_(0.1 * noise)
        else:
            p.copy_(std_of(key, tied) * noise)
        p.copy_(p.bfloat16().float())


def prompts(name, lengths=(24, 70), vocab=256):
    g = torch.Generator().manual_seed(zlib.crc32(name.encode()))
    return tuple([1] + [int(x) for x in torch.randint(3, vocab, (n - 1,), generator=g)] for n in lengths)


def nothing():
    return nullcontext([])


def rows_of(ids):
    """Every position of the short prompt, every seventh of the long one and its last."""
    return list(range(len(ids))) if len(ids) <= 24 else sorted({*range(6, len(ids), 7), len(ids) - 1})


def load(folder):
    return transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32,
                                                             attn_implementation="eager").eval()


def run(make_model, ids_list, counts=None, afresh=False, slack=1.0, probe=None):
    """Cases and their rows of logits; None when a step is too close or the tokens say nothing."""
    cases, rows, at = [], [], 0
    for ids, n in zip(ids_list, counts or [64] * len(ids_list)):
        with Margins() as margins, (probe or nothing)() as more:
            # A fresh model: dynamic NTK remembers lengths.
            prompt, tokens, gaps = (greedy_afresh if afresh else greedy)(make_model(), ids, n, least=1e-3)
        if min(gaps) < 1e-3 or min([margins.least, *more]) < 1e-4 or 2 in tokens or len(set(tokens)) < min(12, n - 2):
            return None
        keep = rows_of(ids)
        cases.append(dict(ids=ids, rows=keep, first_row=at, greedy=tokens, gap=rounded(gaps)))
        rows.append(prompt[keep])
        at += len(keep)
    logits = np.concatenate(rows).astype(np.float32)
    least = min(min(c["gap"]) for c in cases)
    return (cases, logits) if least >= 8 * slack * tolerance(logits) else None


def effect_of(name, tiny, changes, model, cases, logits):
    """Largest change of a stored logit when the branch is switched off."""
    other = tiny.classes[1]._from_config(config_of(name, tiny, changes), attn_implementation="eager").float().eval()
    other.load_state_dict(model.state_dict(), strict=False)
    worst = 0
    for c in cases:
        changed = other(torch.tensor([c["ids"]]), use_cache=False).logits[0, c["rows"]].numpy()
        worst = max(worst, float(np.abs(changed - logits[c["first_row"]:c["first_row"] + len(c["rows"])]).max()))
    return worst


def write_config(path, value):
    with open(path, "w") as f:
        json.dump(value, f, indent=1)
        f.write("\n")


def narrow(key, t):
    """bf16, but what published files keep in f32."""
    return t.contiguous() if key.endswith("correction_bias") or key.endswith("expert_bias") else t.bfloat16().contiguous()


def save(tiny, model, folder):
    model.save_pretrained(folder)
    with open(os.path.join(folder, "config.json")) as f:
        new = json.load(f)
    new["architectures"], new["dtype"] = [type(model).__name__], "bfloat16"
    tensors = load_file(os.path.join(folder, "model.safetensors"))
    legacy = legacy_of(tiny, new)
    if model.config.tie_word_embeddings:
        tensors.pop("lm_head.weight", None)
    write_config(os.path.join(folder, "config.json"), new)
    write_config(os.path.join(folder, "config.legacy.json"), legacy)
    save_file({k: narrow(k, v) for k, v in tensors.items()}, os.path.join(folder, "model.safetensors"),
              metadata={"format": "pt"})
    generation = os.path.join(folder, "generation_config.json")
    if os.path.exists(generation):
        os.remove(generation)


def check_legacy(folder, cases, logits):
    """transformers must read the same model from the old spelling."""
    with tempfile.TemporaryDirectory() as copy_of:
        shutil.copy(os.path.join(folder, "config.legacy.json"), os.path.join(copy_of, "config.json"))
        shutil.copy(os.path.join(folder, "model.safetensors"), copy_of)
        for c in cases:
            again = load(copy_of)(torch.tensor([c["ids"]]), use_cache=False).logits[0, c["rows"]].numpy()
            rows = logits[c["first_row"]:c["first_row"] + len(c["rows"])]
            assert np.abs(again - rows).max() < 1e-5, "the legacy config means another model"


def convert_folder(tiny, folder):
    """Renames and re-lays what was saved into the form of a family transformers has no class for."""
    path = os.path.join(folder, "model.safetensors")
    tensors = load_file(path)
    for file in ("config.json", "config.legacy.json"):
        with open(os.path.join(folder, file)) as f:
            config, renamed = tiny.convert(json.load(f), dict(tensors))
        write_config(os.path.join(folder, file), config)
    save_file({k: v.contiguous() for k, v in renamed.items()}, path, metadata={"format": "pt"})


def find(name, tiny, folder):
    """The first seed whose every step is clear and whose branches matter."""
    lengths, counts = zip(*tiny.cases)
    ids_list = prompts(name, lengths, dict(BASE, **tiny.keys)["vocab_size"])
    for seed in range(400):
        model = tiny.classes[1]._from_config(config_of(name, tiny), attn_implementation="eager").float().eval()
        fill(model, name, seed, tiny.std)
        found = run(lambda: copy.deepcopy(model), ids_list, counts, tiny.afresh, tiny.slack, tiny.probe)
        if not found:
            continue
        cases, logits = found
        effects = {k: effect_of(name, tiny, v, model, cases, logits) for k, v in tiny.off.items()}
        if all(e > 100 * tolerance(logits) for e in effects.values()):
            break
        print(name, seed, "effects too small", effects, flush=True)
    else:
        sys.exit(name + ": no seed will do")
    save(tiny, model, folder)
    again = run(lambda: load(folder), ids_list, counts, tiny.afresh, tiny.slack, tiny.probe)
    assert again and np.abs(again[1] - logits).max() < 1e-6 * max(1, np.abs(logits).max()), "saved and read differ"
    return seed, again, effects


def make(name, tiny):
    folder = os.path.join(DATA, name)
    os.makedirs(folder, exist_ok=True)
    seed, (cases, logits), effects = find(name, tiny, folder)
    tol = float("%.2g" % (tiny.slack * tolerance(logits)))
    for c in cases:
        if not tiny.stale and not tiny.afresh:
            assert recomputed(load(folder), c["ids"], c["greedy"]) == c["greedy"], name
    check_legacy(folder, cases, logits)
    if tiny.convert:
        convert_folder(tiny, folder)
    if tiny.unread:
        path = os.path.join(folder, "config.legacy.json")
        with open(path) as f:
            legacy = json.load(f)
        write_config(path, dict(legacy, **tiny.unread))
    os.chmod(os.path.join(folder, "model.safetensors"), 0o644)
    np.save(os.path.join(folder, "logits.npy"), logits)
    head = dict(source=versions() + "; f32, eager", seed=seed, tolerance=tol, max_logit=round(float(np.abs(logits).max()), 3))
    if len(effects) == 1:
        head["off_effect"] = round(min(effects.values()), 3)
    elif effects:
        head["off_effect"] = {k: round(e, 3) for k, e in effects.items()}
    write_json(os.path.join(folder, "oracle.json"), head, cases)
    if tiny.then:
        tiny.then(name, tiny, folder)
    size = sum(os.path.getsize(os.path.join(folder, f)) for f in os.listdir(folder))
    print(name, "seed", seed, "max", head["max_logit"], "off", effects, "least gap", min(min(c["gap"]) for c in cases),
          "distinct", [len(set(c["greedy"])) for c in cases], size, "bytes", flush=True)
