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


class Margins:
    """Watches every choice of k of n that routers make; `least` is the smallest lead of the last chosen over the first left."""

    def __enter__(self):
        self.least, self.function, self.method = float("inf"), torch.topk, torch.Tensor.topk
        torch.topk = lambda x, k, *a, **kw: self.watch(x, k, *a, **kw)
        torch.Tensor.topk = lambda x, k, *a, **kw: self.watch(x, k, *a, **kw)
        return self

    def watch(self, x, k, *a, **kw):
        if k < x.shape[-1]:
            best = self.method(x, k + 1).values.float()
            lead = best[..., k - 1] - best[..., k]
            self.least = min(self.least, float(lead[~torch.isnan(lead)].min()))
        return self.method(x, k, *a, **kw)

    def __exit__(self, *_):
        torch.topk, torch.Tensor.topk = self.function, self.method


def choose(last):
    order = torch.sort(last, descending=True).values
    return int(torch.argmax(last)), float(order[0] - order[1])


def greedy(model, ids, n, least=0):
    """(logits of the prompt [len(ids), V], n tokens, n gaps between the best and the second). Ends early at a gap below least."""
    out = model(torch.tensor([ids]), use_cache=True)
    prompt, cache, last = out.logits[0].float().numpy(), out.past_key_values, out.logits[0, -1]
    tokens, gaps = [], []
    for step in range(n):
        token, gap = choose(last)
        tokens.append(token)
        gaps.append(gap)
        if gap < least:
            break
        if step + 1 < n:
            out = model(torch.tensor([[token]]), past_key_values=cache, use_cache=True)
            last = out.logits[0, -1]
    return prompt, tokens, gaps


def greedy_afresh(model, ids, n, least=0):
    """As greedy, the whole sequence anew for every token."""
    prompt, tokens, gaps, all_ids = None, [], [], list(ids)
    for _ in range(n):
        logits = model(torch.tensor([all_ids]), use_cache=False).logits[0]
        prompt = logits.float().numpy() if prompt is None else prompt
        token, gap = choose(logits[-1])
        tokens.append(token)
        gaps.append(gap)
        all_ids.append(token)
        if gap < least:
            break
    return prompt, tokens, gaps


def recomputed(model, ids, tokens):
    """The choices after every prefix of ids + tokens, without a cache."""
    logits = model(torch.tensor([[*ids, *tokens[:-1]]]), use_cache=False).logits[0]
    return [int(t) for t in torch.argmax(logits[len(ids) - 1:], dim=-1)]


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
