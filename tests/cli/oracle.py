#!/usr/bin/env python3
"""A real model against transformers, through the program: oracle.py PROGRAM DATA MODEL-VARIABLE NAME

DATA/oracle/NAME.json holds prompts, chats, ids and 64 greedy tokens each. Output is TAP."""
import json
import os
import subprocess
import sys
import tempfile


def main():
    program, data, variable, name = sys.argv[1:5]
    model = os.environ.get(variable, "")
    if not os.path.isfile(model):
        print("skipped: %s names no file" % variable)
        sys.exit(77)
    with open(os.path.join(data, "oracle", name + ".json"), encoding="utf-8") as f:
        cases = json.load(f)["cases"]
    n = failed = 0

    def ok(what, got, want):
        nonlocal n, failed
        n += 1
        print("%s %d - %s" % ("ok" if got == want else "not ok", n, what))
        if got != want:
            failed += 1
            print("# got %r\n# want %r" % (got, want))

    def call(*words, stdin=b""):
        p = subprocess.run([program] + list(words), input=stdin, capture_output=True, timeout=500)
        if p.returncode:
            print("# %s: %s" % (" ".join(words)[:200], p.stderr.decode("utf-8", "replace")))
        return p.stdout.decode("utf-8", "replace")

    def generate(*words):
        text = call("generate", "-m", model, "--temp", "0", "--json", *words)
        return json.loads(text or "{}")

    about = json.loads(call("inspect", model, "--json"))
    for case in cases:
        chat = "messages" in case
        label = (case["messages"][0]["content"] if chat else case["prompt"])[:30]
        with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as f:
            if chat and not about["chat_template"]:  # a base model: the reference used a template of its own
                prompt = ["--ids", ",".join(map(str, case["ids"]))]
            elif chat:
                json.dump(case["messages"], f)
                f.flush()
                prompt = ["--messages", f.name]
                ok("chat text: " + label, call("template", "-m", model, "--messages", f.name), case["rendered"])
            else:
                prompt = ["-p", case["prompt"], "--no-chat-template"]
            text = case["rendered"] if chat else case["prompt"]
            plain = ["--no-special"] if chat else []
            ok("ids: " + label, json.loads(call("tokenize", "-m", model, *plain, stdin=text.encode()) or "0"), case["ids"])
            r = generate(*prompt, "-n", str(len(case["greedy"])), "--ignore-eos")
            ok("prompt ids: " + label, r.get("prompt_ids"), case["ids"])
            ok("%d tokens: %s" % (len(case["greedy"]), label), r.get("ids"), case["greedy"])
            ok("finish at the limit: " + label, r.get("finish_reason"), "length")
            ends = [i for i, t in enumerate(case["greedy"]) if t in about["end_ids"]]
            if ends:
                r = generate(*prompt, "-n", str(len(case["greedy"])))
                ok("ends by itself: " + label, (r.get("ids"), r.get("finish_reason")), (case["greedy"][:ends[0]], "stop"))
    print("1..%d" % n)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
