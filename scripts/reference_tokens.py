#!/usr/bin/env python3
"""Greedy tokens of a model as transformers computes them, in f32 with eager attention, one token at a time through its cache.

    reference_tokens.py MODEL -o FILE.json [--ids 1,2,3]... [-n 64]

MODEL is a folder of plain safetensors; of a quantized checkpoint `mlxcel convert MODEL -o PLAIN --dtype f32` makes one with the
dequantized weights. FILE gets {"source", "cases": [{"ids", "greedy", "gaps"}]}, as the files of tests/data/oracle; a gap is the
lead of the chosen token's logit over the next one. Needs torch and transformers.
"""
import argparse
import json
import os

import torch
import transformers


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--ids", action="append", required=True)
    parser.add_argument("-n", type=int, default=64)
    a = parser.parse_args()
    torch.set_grad_enabled(False)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    model = transformers.AutoModelForCausalLM.from_pretrained(a.model, dtype=torch.float32, attn_implementation="eager")
    model.eval()
    cases = []
    for text in a.ids:
        ids = [int(x) for x in text.split(",")]
        greedy, gaps, cache, feed = [], [], None, torch.tensor([ids])
        for _ in range(a.n):
            out = model(feed, past_key_values=cache, use_cache=True, logits_to_keep=1)
            cache, last = out.past_key_values, out.logits[0, -1]
            best = torch.topk(last, 2)
            greedy.append(int(best.indices[0]))
            gaps.append(float(best.values[0] - best.values[1]))
            feed = torch.tensor([[greedy[-1]]])
        cases.append({"ids": ids, "greedy": greedy, "gaps": [float("%.4g" % g) for g in gaps]})
    source = "transformers %s, torch %s; f32, eager" % (transformers.__version__, torch.__version__.split("+")[0])
    with open(a.output + ".part", "w", encoding="utf-8") as f:
        json.dump({"source": source, "cases": cases}, f)
        f.write("\n")
    os.replace(a.output + ".part", a.output)


if __name__ == "__main__":
    main()
