"""What every oracle shares: a model run in f32 with eager attention, greedily, one token at a time through its cache."""
import json
import os
import warnings

import numpy as np
import torch
import transformers

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "oracle")


def setup():
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    warnings.simplefilter("ignore", FutureWarning)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()


def versions(*more):
    return ", ".join(["transformers " + transformers.__version__, "torch " + torch.__version__.split("+")[0], *more])


def greedy(model, ids, n):
    """(logits of the prompt [len(ids), V], n tokens, n gaps between the best and the second)."""
    out = model(torch.tensor([ids]), use_cache=True)
    prompt, cache, last = out.logits[0].float().numpy(), out.past_key_values, out.logits[0, -1]
    tokens, gaps = [], []
    for step in range(n):
        best = torch.topk(last, 2)
        gaps.append(float(best.values[0] - best.values[1]))
        tokens.append(int(torch.argmax(last)))
        if step + 1 < n:
            out = model(torch.tensor([[tokens[-1]]]), past_key_values=cache, use_cache=True)
            last = out.logits[0, -1]
    return prompt, tokens, gaps


def recomputed(model, ids, n):
    """The same tokens without a cache: the whole sequence again for every token."""
    ids = list(ids)
    for _ in range(n):
        ids.append(int(torch.argmax(model(torch.tensor([ids]), use_cache=False).logits[0, -1])))
    return ids[-n:]


def write_json(path, head, cases):
    """One case a line: the files are read by people too."""
    with open(path, "w") as f:
        lines = ["%s: %s" % (json.dumps(k), json.dumps(v)) for k, v in head.items()]
        f.write("{" + ",\n ".join(lines) + ',\n "cases": [\n  ')
        f.write(",\n  ".join(json.dumps(c, ensure_ascii=False) for c in cases) + "\n ]}\n")


def rounded(gaps):
    return [round(g, 4) for g in gaps]


def tolerance(logits):
    """1e-4 absolute for logits of 4, growing with them: what the order of f32 sums may change."""
    return float("%.2g" % (1e-4 * max(0.2, float(np.abs(logits).max()) / 4)))
