"""Every published chat template, in many conversations, rendered by jinja2 set up as transformers sets it up and by us.

    templates.py --program template_pairs [--folder MLXCEL_TEST_VOCABS] [--python MLXCEL_TEST_PYTHON]

Runs itself again with the Python that has jinja2. Skips (77) when folder or package are missing.
"""
import argparse
import copy
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SKIP = 77


def skip(reason):
    print("skipped: " + reason)
    sys.exit(SKIP)


def oracle():
    """tests/oracle/make_template_vectors.py: its jinja2 environment and its conversations."""
    path = HERE.parent / "oracle" / "make_template_vectors.py"
    spec = importlib.util.spec_from_file_location("make_template_vectors", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def more_chats(chats):
    """The oracle's conversations, and those that only templates of large models look at."""
    out = dict(chats)
    call, text = copy.deepcopy(chats["call"]["messages"][1]["tool_calls"])
    tools = chats["tools"]["tools"]
    out["many_calls"] = dict(messages=[
        {"role": "system", "content": "Use tools."}, {"role": "user", "content": "Both, please"},
        {"role": "assistant", "content": "", "tool_calls": [call, dict(call, id="c9")]},
        {"role": "tool", "content": "{\"t\": 20}", "tool_call_id": "c1", "name": "get_weather"},
        {"role": "tool", "content": [{"type": "text", "text": "21"}], "tool_call_id": "c9", "name": "get_weather"},
        {"role": "assistant", "content": "20 and 21", "reasoning_content": "Two results.\n"},
        {"role": "user", "content": "And now?"}], tools=tools)
    out["no_prompt"] = dict(messages=[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello there."}], prompt=False,
                            tools=tools)
    out["system_parts"] = dict(messages=[{"role": "system", "content": [{"type": "text", "text": "Be kind."}]},
                                         {"role": "user", "content": [{"type": "text", "text": "Hi"}, {"type": "image", "image": "x.png"}]}])
    out["thinks"] = dict(messages=[{"role": "user", "content": "1+1?"}, {"role": "assistant", "content": "2", "reasoning_content": "Easy."},
                                   {"role": "user", "content": "2+2?"}], kwargs={"enable_thinking": True, "thinking": True, "reasoning_effort": "high"})
    out["continues"] = dict(messages=[{"role": "user", "content": "Count"}, {"role": "assistant", "content": "1, 2,"}], prompt=False,
                            kwargs={"enable_thinking": False, "reasoning_effort": "low", "builtin_tools": ["python"]})
    return out


def render_all(o, text, variables):
    """What one template makes of each conversation; None where jinja2 raises."""
    out = {}
    try:
        template = o.ENV.from_string(text)
    except Exception:
        return dict.fromkeys(variables)
    for chat, values in variables.items():
        try:
            out[chat] = template.render(**copy.deepcopy(values))
        except Exception:  # every way to fail is one
            out[chat] = None
    return out


def compare(folder, program):
    o = oracle()
    chats = more_chats(o.CHATS)
    templates = {p.name: p.read_text(encoding="utf-8") for p in sorted(pathlib.Path(folder, "templates").glob("*.jinja"))}
    if not templates:
        sys.exit("templates.py: %s/templates holds no template" % folder)
    special = dict(o.SPECIAL)
    variables = {name: {**o.chat_variables(c), **special} for name, c in chats.items()}
    expect = {name: render_all(o, text, variables) for name, text in templates.items()}
    with tempfile.TemporaryDirectory(prefix="mlxcel-") as place:
        path = os.path.join(place, "expect.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"templates": templates, "special": special, "chats": chats, "expect": expect}, f, ensure_ascii=True)
        return subprocess.run([program, path]).returncode


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--program", required=True)
    ap.add_argument("--folder", default=os.environ.get("MLXCEL_TEST_VOCABS"))
    ap.add_argument("--python", default=os.environ.get("MLXCEL_TEST_PYTHON"))
    a = ap.parse_args()
    if not a.folder:
        skip("MLXCEL_TEST_VOCABS does not name the folder that scripts/vocab_cache.py makes")
    if importlib.util.find_spec("jinja2"):
        sys.exit(compare(a.folder, a.program))
    if not a.python or os.environ.get("MLXCEL_TEMPLATES_AGAIN"):
        skip("no jinja2: MLXCEL_TEST_PYTHON does not name a Python with tests/requirements.txt")
    command = [a.python, "-B", __file__, "--program", a.program, "--folder", a.folder]
    sys.exit(subprocess.run(command, env=dict(os.environ, MLXCEL_TEMPLATES_AGAIN="1")).returncode)


if __name__ == "__main__":
    main()
