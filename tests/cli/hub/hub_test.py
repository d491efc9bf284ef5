#!/usr/bin/env python3
"""mlxcel download, list and rm against a hub on loopback that cuts, lies, redirects and refuses: hub_test.py PROGRAM

Every case has a folder of its own as HOME. Output is TAP; `hub_test.py PROGRAM NAME...` runs these cases only."""
import concurrent.futures
import hashlib
import json
import os
import pty
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from hub import COMMIT, Hub, Repo, trickle

PROGRAM = ""
SLOW = float(os.environ.get("CEL_TEST_SLOWDOWN", "1"))
TOKEN = "hf_secretsecretsecret"
CASES = []


def case(f):
    CASES.append(f)
    return f


def noise(n, seed=1):
    return random.Random(seed).getrandbits(8 * n).to_bytes(n, "big")


def model(weights=300000, seed=1):
    return {"config.json": b'{"model_type":"llama"}', "model.safetensors": noise(weights, seed), "tokenizer.json": b'{"v":1}',
            "README.md": b"# readme", ".gitattributes": b"x", "pytorch_model.bin": b"pickle", "modeling.py": b"import os"}


class Box:
    """A home with a hub; run() gives status, standard output, standard error."""

    def __init__(self):
        self.hub = Hub()
        self.home = os.path.realpath(tempfile.mkdtemp(prefix="cel_hub_"))
        self.store = os.path.join(self.home, "store")

    def close(self):
        self.hub.close()
        shutil.rmtree(self.home, ignore_errors=True)

    def env(self, **more):
        e = {"HOME": self.home, "PATH": os.environ.get("PATH", ""), "HF_ENDPOINT": self.hub.url, "MLXCEL_MODELS_DIR": self.store,
             "NO_PROXY": "*", "no_proxy": "*", "LC_ALL": "C"}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LD_LIBRARY_PATH"):
            if name in os.environ:
                e[name] = os.environ[name]
        e.update({k: v for k, v in more.items() if v is not None})
        for k in [k for k, v in more.items() if v is None]:
            e.pop(k, None)
        return e

    def run(self, *args, status=0, stdin=subprocess.DEVNULL, limit=60, **env):
        p = subprocess.run([PROGRAM, *args], env=self.env(**env), cwd=self.home, stdin=stdin, capture_output=True, timeout=limit * SLOW)
        out, err = p.stdout.decode(), p.stderr.decode()
        assert TOKEN not in out + err, "the token was printed"
        assert "Sanitizer" not in err and "runtime error" not in err, err
        assert p.returncode == status, "status %d, not %d: %s%s" % (p.returncode, status, out, err)
        if status:
            assert len(re.findall("^error: ", err, re.M)) == 1, err
        return out, err

    def path(self, *parts):
        return os.path.join(self.store, *parts)

    def read(self, *parts):
        with open(self.path(*parts), "rb") as f:
            return f.read()

    def tree(self, *parts):
        found = []
        for folder, _, names in os.walk(self.path(*parts)):
            found += [os.path.relpath(os.path.join(folder, n), self.path(*parts)) for n in names]
        return sorted(found)


def has(text, *patterns):
    for p in patterns:
        assert re.search(p, text), "%r is not in %r" % (p, text)


def same(a, b):
    assert a == b, "%r is not %r" % (a, b)


# ---- the straight way ----------------------------------------------------------------------------------------

@case
def model_files_come_whole_and_others_stay(b):
    files = model()
    files["sub/dir/vocab.txt"] = b"v"
    b.hub.add("o/m", Repo(files, plain=["config.json", "tokenizer.json", "sub/dir/vocab.txt"]))
    out, err = b.run("download", "o/m")
    same(out, b.path("o/m") + "\n")
    same(b.tree("o/m"), [".mlxcel.json", "config.json", "model.safetensors", "sub/dir/vocab.txt", "tokenizer.json"])
    same(b.read("o/m/model.safetensors"), files["model.safetensors"])
    same(json.loads(b.read("o/m/.mlxcel.json")), {"repo": "o/m", "revision": "main", "commit": COMMIT})
    same(os.listdir(b.path("o")), ["m"])
    has(err, r"\[1/4\] config.json  22 B", r"\[2/4\] model.safetensors  293.0 KiB")
    assert "\r" not in err and "\x1b" not in err


@case
def a_second_download_fetches_nothing(b):
    repo = b.hub.add("o/m", Repo(model()))
    b.run("pull", "o/m")
    n = len(repo.asked)
    out, err = b.run("download", "o/m")
    same(len(repo.asked), n + 1)
    has(err, "o/m is there")
    same(out, b.path("o/m") + "\n")


@case
def a_bare_name_gets_the_default_owner(b):
    b.hub.add("mlx-community/m", Repo(model()))
    b.hub.add("me/m", Repo(model()))
    b.run("download", "m")
    assert os.path.isdir(b.path("mlx-community/m"))
    b.run("download", "m", MLXCEL_DEFAULT_ORG="me")
    assert os.path.isdir(b.path("me/m"))


@case
def a_file_lost_from_the_store_is_fetched_again(b):
    repo = b.hub.add("o/m", Repo(model()))
    b.run("download", "o/m")
    os.unlink(b.path("o/m/tokenizer.json"))
    n = len(repo.asked)
    b.run("download", "o/m")
    same([a[1].split("/")[-1] for a in repo.asked[n + 1:]], ["tokenizer.json"])
    same(b.read("o/m/tokenizer.json"), b'{"v":1}')


@case
def force_fetches_all_files_anew(b):
    repo = b.hub.add("o/m", Repo(model()))
    b.run("download", "o/m")
    n = len(repo.asked)
    b.run("download", "o/m", "--force")
    same(len(repo.asked), n + 4)


@case
def odd_names_are_escaped(b):
    b.hub.add("o/m", Repo({"config.json": b"{}", "a b#c?d%.safetensors": b"x" * 10, "\u00e4/\u00f6.json": b"{}"}))
    b.run("download", "o/m", "--revision", "refs/pr/1")
    same(b.tree("o/m"), [".mlxcel.json", "a b#c?d%.safetensors", "config.json", "\u00e4/\u00f6.json"])


@case
def empty_files_are_files(b):
    b.hub.add("o/m", Repo({"config.json": b"{}", "model.safetensors": b"1", "merges.txt": b"", "vocab.json": b""}, plain=["vocab.json"]))
    b.run("download", "o/m")
    same(b.read("o/m/merges.txt"), b"")
    same(b.read("o/m/vocab.json"), b"")


# ---- choice ----------------------------------------------------------------------------------------------------

def ggufs():
    return {"m-Q4_K_M.gguf": noise(2000, 1), "m-Q8_0.gguf": noise(3000, 2), "m-BF16-00001-of-00002.gguf": noise(1000, 3),
            "m-BF16-00002-of-00002.gguf": noise(1000, 4), "mmproj-F16.gguf": noise(10, 5), "README.md": b"r"}


@case
def several_gguf_models_need_a_choice(b):
    b.hub.add("o/g", Repo(ggufs()))
    _, err = b.run("download", "o/g", status=1)
    has(err, r"holds 3 GGUF models; choose with --include: m-BF16-00001-of-00002.gguf \(2.0 KiB\), m-Q4_K_M.gguf \(2.0 KiB\), m-Q8_0.gguf \(2.9 KiB\)")
    assert not os.path.exists(b.path("o"))


@case
def include_chooses_and_adds(b):
    repo = b.hub.add("o/g", Repo(ggufs()))
    b.run("download", "o/g", "--include", "*Q4*")
    same(b.tree("o/g"), [".mlxcel.json", "m-Q4_K_M.gguf"])
    b.run("download", "o/g", "--include", "*Q8*", "--include", "README*")
    same(b.tree("o/g"), [".mlxcel.json", "README.md", "m-Q4_K_M.gguf", "m-Q8_0.gguf"])
    same(len(repo.asked), 5)
    _, err = b.run("download", "o/g", "--include", "*Q3*", status=1)
    has(err, r"no file that --include \*Q3\* matches; its GGUF models: .*m-Q8_0.gguf")


@case
def a_tag_chooses_a_quantization(b):
    b.hub.add("o/g", Repo(ggufs()))
    b.run("download", "o/g:q8_0")
    same(b.tree("o/g"), [".mlxcel.json", "m-Q8_0.gguf"])
    b.run("download", "o/g:BF16")
    same(len(b.tree("o/g")), 4)
    _, err = b.run("download", "o/g:Q2_K", status=1)
    has(err, "holds no file that --include")


@case
def one_gguf_model_needs_no_choice(b):
    b.hub.add("o/g", Repo({"m-00001-of-00002.gguf": b"a", "m-00002-of-00002.gguf": b"b", "mmproj.gguf": b"c"}))
    b.run("download", "o/g")
    same(len(b.tree("o/g")), 4)


@case
def gguf_beside_safetensors_is_left(b):
    b.hub.add("o/m", Repo({**model(), "m.gguf": b"g"}))
    b.run("download", "o/m")
    assert "m.gguf" not in b.tree("o/m")


@case
def a_repository_without_weights_is_refused(b):
    b.hub.add("o/m", Repo({"config.json": b"{}", "pytorch_model.bin": b"p"}))
    _, err = b.run("download", "o/m", status=1)
    has(err, "no .safetensors and no .gguf file among its 2")


# ---- connections -------------------------------------------------------------------------------------------------

@case
def cut_connections_are_gone_on_with(b):
    repo = b.hub.add("o/m", Repo(model(500000)))
    body = repo.files["model.safetensors"]

    def cut(h, nth):
        at = h.start() or 0
        if nth > 3:
            return False
        rest = body[at:]
        h.cut_after(rest, 100000, 206 if at else 200,
                    [("Content-Range", "bytes %d-%d/%d" % (at, len(body) - 1, len(body)))] if at else ())
        return True
    repo.odd["model.safetensors"] = cut
    _, err = b.run("download", "o/m")
    same(b.read("o/m/model.safetensors"), body)
    asked = [a[2].get("Range") for a in repo.asked if a[1].endswith(".safetensors")]
    same(asked, [None, "bytes=100000-", "bytes=200000-", "bytes=300000-"])
    has(err, "model.safetensors: 127.0.0.1: .*; again in 0.5 s")


@case
def a_killed_download_is_gone_on_with(b):
    repo = b.hub.add("o/m", Repo(model(400000)))
    repo.odd["model.safetensors"] = lambda h, nth: nth == 1 and trickle(h, repo.files["model.safetensors"], 50000, 0.3)
    p = subprocess.Popen([PROGRAM, "download", "o/m"], env=b.env(), stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    part = b.path("o/m.partial/.model.safetensors.part")
    wait_for(lambda: os.path.exists(part) and os.path.getsize(part) >= 100000)
    p.kill()
    p.communicate()
    size = os.path.getsize(part)
    _, err = b.run("list")
    _, err = b.run("download", "o/m")
    same([a[2].get("Range") for a in repo.asked if a[1].endswith(".safetensors")], [None, "bytes=%d-" % size])
    same(b.read("o/m/model.safetensors"), repo.files["model.safetensors"])
    same(os.listdir(b.path("o")), ["m"])


@case
def control_c_leaves_a_state_to_go_on_from(b):
    repo = b.hub.add("o/m", Repo(model(400000)))
    repo.odd["model.safetensors"] = lambda h, nth: nth == 1 and trickle(h, repo.files["model.safetensors"], 50000, 0.5)
    p = subprocess.Popen([PROGRAM, "download", "o/m"], env=b.env(), stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    part = b.path("o/m.partial/.model.safetensors.part")
    wait_for(lambda: os.path.exists(part) and os.path.getsize(part) >= 100000)
    begin = time.time()
    p.send_signal(signal.SIGINT)
    _, err = p.communicate(timeout=20 * SLOW)
    assert time.time() - begin < 3 * SLOW
    same(p.returncode, 1)
    has(err.decode(), "error: interrupted; the same command goes on")
    assert not os.path.exists(b.path("o/m.lock"))
    out, _ = b.run("list")
    has(out, r"unfinished: o/m, .*mlxcel download o/m goes on")
    _, err = b.run("inspect", "o/m", status=1)
    has(err, "the download of o/m is not finished: mlxcel download o/m goes on with it")
    b.run("download", "o/m")
    same(b.read("o/m/model.safetensors"), repo.files["model.safetensors"])
    assert repo.asked[-2][2].get("Range") or repo.asked[-1][2].get("Range")


@case
def a_server_that_does_not_resume_starts_over(b):
    repo = b.hub.add("o/m", Repo(model(300000)))
    body = repo.files["model.safetensors"]

    def odd(h, nth):
        if nth == 1:
            h.cut_after(body, 120000)
        else:
            h.reply(200, body)  # whatever the Range
        return True
    repo.odd["model.safetensors"] = odd
    b.run("download", "o/m")
    same(b.read("o/m/model.safetensors"), body)


@case
def a_wrong_range_starts_over(b):
    repo = b.hub.add("o/m", Repo(model(300000)))
    body = repo.files["model.safetensors"]

    def odd(h, nth):
        if nth == 1:
            h.cut_after(body, 120000)
        elif nth == 2:
            h.reply(206, body[100:], [("Content-Range", "bytes 100-%d/%d" % (len(body) - 1, len(body)))])
        else:
            return False
        return True
    repo.odd["model.safetensors"] = odd
    _, err = b.run("download", "o/m")
    has(err, "answers with another part of the file")
    same(b.read("o/m/model.safetensors"), body)


@case
def an_early_end_without_a_length_counts_as_cut(b):
    repo = b.hub.add("o/m", Repo(model(300000)))
    body = repo.files["model.safetensors"]

    def odd(h, nth):
        if nth > 1:
            return False
        h.send_response(200)
        h.send_header("Connection", "close")
        h.end_headers()
        h.wfile.write(body[:70000])
        h.close_connection = True
        return True
    repo.odd["model.safetensors"] = odd
    _, err = b.run("download", "o/m")
    has(err, "ends after 70000 of 300000 bytes")
    same(b.read("o/m/model.safetensors"), body)


@case
def a_stalled_connection_counts_as_cut(b):
    repo = b.hub.add("o/m", Repo(model(300000)))
    body = repo.files["model.safetensors"]
    done = threading.Event()

    def odd(h, nth):
        if nth > 1:
            return False
        h.cut_after(body, 70000)
        done.wait(20 * SLOW)
        return True
    repo.odd["model.safetensors"] = odd
    _, err = b.run("download", "o/m", HF_HUB_DOWNLOAD_TIMEOUT="2")
    done.set()
    has(err, "again in 0.5 s")
    same(repo.asked[-2][2].get("Range") or repo.asked[-1][2].get("Range"), "bytes=70000-")
    same(b.read("o/m/model.safetensors"), body)


@case
def a_server_that_always_cuts_is_given_up_and_the_part_kept(b):
    repo = b.hub.add("o/m", Repo(model(300000)))
    body = repo.files["model.safetensors"]

    def odd(h, nth):
        at = h.start() or 0
        h.cut_after(body[at:], 10, 206 if at else 200, [("Content-Range", "bytes %d-%d/%d" % (at, len(body) - 1, len(body)))] if at else ())
        return True
    repo.odd["model.safetensors"] = odd
    _, err = b.run("download", "o/m", status=1)
    has(err, "error: model.safetensors: given up after 6 tries: ")
    same(os.path.getsize(b.path("o/m.partial/.model.safetensors.part")), 60)


@case
def busy_servers_are_asked_again(b):
    repo = b.hub.add("o/m", Repo(model()))
    repo.api = lambda h, nth: nth == 1 and (h.reply(503, b"tired"), True)[1]
    repo.odd["model.safetensors"] = lambda h, nth: nth <= 2 and (h.reply(429, b"slow down", [("Retry-After", "1")]), True)[1]
    begin = time.time()
    _, err = b.run("download", "o/m")
    assert time.time() - begin >= 2.4
    has(err, "o/m: 127.0.0.1 answers 503: tired; again in 0.5 s", "model.safetensors: 127.0.0.1 answers 429: slow down; again in 1.0 s")


@case
def a_long_wait_is_left_to_the_user(b):
    repo = b.hub.add("o/m", Repo(model()))
    repo.api = lambda h, nth: (h.reply(429, b"", [("Retry-After", "4000")]), True)[1]
    _, err = b.run("download", "o/m", status=1)
    has(err, "answers 429 and asks to wait for 4000 seconds")


@case
def an_unreachable_hub_is_named(b):
    _, err = b.run("download", "o/m", status=1, HF_ENDPOINT="http://127.0.0.1:1")
    has(err, r"cannot reach http://127.0.0.1:1 \(is there a network\?")
    assert not os.path.exists(b.path("o"))
    _, err = b.run("download", "o/m", status=1, HF_ENDPOINT="http://nowhere.invalid")
    has(err, r"cannot reach http://nowhere.invalid")


# ---- lies --------------------------------------------------------------------------------------------------------

@case
def wrong_content_is_thrown_away(b):
    repo = b.hub.add("o/m", Repo(model()))
    repo.odd["model.safetensors"] = lambda h, nth: (h.reply(200, noise(300000, 9)), True)[1]
    _, err = b.run("download", "o/m", status=1)
    has(err, "error: model.safetensors: its SHA-256 is %s, the hub's record says %s" % (hashlib.sha256(noise(300000, 9)).hexdigest(),
        hashlib.sha256(repo.files["model.safetensors"]).hexdigest()))
    same(sum(a[1].endswith(".safetensors") for a in repo.asked), 2)
    assert not os.path.exists(b.path("o/m"))
    assert "model.safetensors" not in " ".join(b.tree("o/m.partial"))


@case
def a_spoiled_part_is_fetched_anew(b):
    repo = b.hub.add("o/m", Repo(model()))
    os.makedirs(b.path("o/m.partial"))
    with open(b.path("o/m.partial/.model.safetensors.part"), "wb") as f:
        f.write(b"z" * 1000)
    _, err = b.run("download", "o/m")
    has(err, "model.safetensors: its SHA-256 is wrong; fetching it anew")
    same(b.read("o/m/model.safetensors"), repo.files["model.safetensors"])


@case
def sizes_that_differ_from_the_record_are_refused(b):
    repo = b.hub.add("o/m", Repo(model()))
    for n in (299999, 300001):
        repo.odd["model.safetensors"] = lambda h, nth: (h.reply(200, noise(n)), True)[1]
        _, err = b.run("download", "o/m", status=1)
        has(err, "the hub's record says 300000 bytes, but 127.0.0.1 offers %d" % n)


@case
def a_body_without_end_is_stopped(b):
    repo = b.hub.add("o/m", Repo(model()))

    def odd(h, nth):
        h.send_response(200)
        h.send_header("Connection", "close")
        h.end_headers()
        try:
            for _ in range(10000):
                h.wfile.write(b"x" * 65536)
        except (BrokenPipeError, ConnectionResetError):
            pass
        h.close_connection = True
        return True
    repo.odd["model.safetensors"] = odd
    _, err = b.run("download", "o/m", status=1)
    has(err, "sends more than the 300000 bytes there should be")


@case
def paths_out_of_the_folder_are_refused(b):
    for bad in ("../evil.json", "/etc/evil.json", "a/../../evil.json", "a//evil.json", "a\\evil.json", "./evil.json", "a/.", "e\nvil.json", "",
                "x" * 250 + ".json"):
        repo = b.hub.add("o/m", Repo(model()))
        repo.record = lambda r, bad=bad: {**r, "siblings": r["siblings"] + [{"rfilename": bad, "size": 1}]}
        _, err = b.run("download", "o/m", status=1)
        has(err, "may lead out of its folder; nothing was fetched")
    assert not os.path.exists(b.store) or b.tree() == []
    same(sorted(os.listdir(b.home)), ["store"] if os.path.exists(b.store) else [])


@case
def records_that_make_no_sense_are_refused(b):
    big = 9223372036854775807
    for change, word in (
            (lambda r: b"<html>", "the hub's record of o/m"),
            (lambda r: b"[]", '"sha"'),
            (lambda r: {**r, "sha": "../../x"}, "is no commit"),
            (lambda r: {**r, "siblings": 3}, 'no array "siblings"'),
            (lambda r: {**r, "siblings": [{"size": 3}]}, "no rfilename"),
            (lambda r: {**r, "siblings": [3]}, "no rfilename"),
            (lambda r: {**r, "siblings": r["siblings"] * 2}, "stands twice"),
            (lambda r: {**r, "siblings": [{"rfilename": "a.safetensors"}]}, "gives no size"),
            (lambda r: {**r, "siblings": [{"rfilename": "a.safetensors", "size": -4}]}, "gives no size"),
            (lambda r: {**r, "siblings": [{"rfilename": "a.safetensors", "size": 4, "lfs": {"sha256": "abc", "size": 4}}]}, "64 hexadecimal"),
            (lambda r: {**r, "siblings": [{"rfilename": "a.safetensors", "size": 4, "lfs": {"sha256": "a" * 64, "size": 5}}]}, "lfs.size 5"),
            (lambda r: {**r, "siblings": [{"rfilename": "%d.safetensors" % i, "size": big} for i in range(2)]}, "have no sum"),
            (lambda r: {**r, "siblings": [{"rfilename": "a.safetensors", "size": big}]}, "are to be fetched, but only"),
            (lambda r: b" " * (33 << 20), "sends more than")):
        repo = b.hub.add("o/m", Repo(model()))
        repo.record = change
        _, err = b.run("download", "o/m", status=1)
        has(err, word)


# ---- redirects and tokens ------------------------------------------------------------------------------------------

def redirecting(b, where, hops=0):
    repo = b.hub.add("o/m", Repo(model()))
    b.hub.elsewhere_body["k"] = repo.files["model.safetensors"]
    repo.odd["model.safetensors"] = lambda h, nth: (h.reply(302, b"moved", [("Location", where)]), True)[1]
    return repo


@case
def the_token_goes_to_the_hub_and_not_beyond(b):
    for where, kept in (("http://localhost:%d/elsewhere/k" % b.hub.port, False), ("http://127.0.0.1:%d/elsewhere/k" % b.hub.other_port, False),
                        ("/elsewhere/k", True)):
        repo = redirecting(b, where)
        del b.hub.elsewhere_asked[:]
        b.run("download", "o/m", "--force", HF_TOKEN=TOKEN)
        same([a[2] for a in b.hub.elsewhere_asked], ["Bearer " + TOKEN if kept else None])
        assert all(a[2].get("Authorization") == "Bearer " + TOKEN for a in repo.asked)
        same(b.read("o/m/model.safetensors"), repo.files["model.safetensors"])


@case
def a_token_once_left_behind_does_not_come_back(b):
    repo = b.hub.add("o/m", Repo(model()))
    b.hub.elsewhere_body["k"] = repo.files["model.safetensors"]
    b.hub.add("x/y", Repo({})).odd["f"] = lambda h, nth: (h.reply(302, b"", [("Location", b.hub.url + "/elsewhere/k")]), True)[1]
    repo.odd["model.safetensors"] = lambda h, nth: (h.reply(307, b"", [("Location", "http://127.0.0.1:%d/x/y/resolve/main/f" % b.hub.other_port)]), True)[1]
    b.run("download", "o/m", HF_TOKEN=TOKEN)
    same([a[2] for a in b.hub.elsewhere_asked], [None])


@case
def tokens_have_an_order(b):
    for args, env, want in ((["--token", "a"], {"HF_TOKEN": "b", "HUGGING_FACE_HUB_TOKEN": "c"}, "Bearer a"),
                            ([], {"HF_TOKEN": "b", "HUGGING_FACE_HUB_TOKEN": "c"}, "Bearer b"),
                            ([], {"HF_TOKEN": "", "HUGGING_FACE_HUB_TOKEN": "c"}, "Bearer c"), ([], {}, None)):
        repo = b.hub.add("o/m", Repo(model()))
        b.run("download", "o/m", *args, **env)
        same(repo.asked[0][2].get("Authorization"), want)


@case
def a_token_that_would_forge_headers_is_refused(b):
    repo = b.hub.add("o/m", Repo(model()))
    for bad in ("a\r\nX: y", "a b", "\u00e4", "x" * 2000):
        _, err = b.run("download", "o/m", "--token", bad, status=1)
        has(err, "the token holds a blank")
    same(repo.asked, [])


@case
def redirects_have_an_end(b):
    repo = b.hub.add("o/m", Repo(model()))
    repo.odd["model.safetensors"] = lambda h, nth: (h.reply(302, b"", [("Location", h.path)]), True)[1]
    _, err = b.run("download", "o/m", status=1)
    has(err, "redirects once more after 5 redirects")
    same(sum(a[1].endswith(".safetensors") for a in repo.asked), 6)


@case
def redirects_to_other_schemes_are_refused(b):
    for where in ("file:///etc/passwd", "ftp://127.0.0.1/x", "gopher://127.0.0.1/", "http://user:pw@127.0.0.1:%d/elsewhere/k" % b.hub.port):
        redirecting(b, where)
        _, err = b.run("download", "o/m", status=1)
        has(err, r"answers 302 without an http\(s\) address")


# ---- refusals -------------------------------------------------------------------------------------------------------

@case
def refusals_say_what_to_do(b):
    gated = [("X-Error-Code", "GatedRepo"), ("X-Error-Message", "Access to model o/m is restricted")]
    for code, headers, env, word in (
            (401, gated, {}, r"o/m is gated \(401\): accept its terms on http://127.0.0.1:\d+/o/m, then give a token"),
            (403, gated, {"HF_TOKEN": TOKEN}, r"o/m is gated and this token's account has no access \(403\): accept the model's terms on"),
            (401, [], {}, r"wants a token \(401\): the model is private or does not exist"),
            (401, [], {"HF_TOKEN": TOKEN}, r"refuses the token \(401\)"),
            (404, [], {}, "o/m: not found on http://127.0.0.1"),
            (400, [], {}, "answers 400: odd request")):
        repo = b.hub.add("o/m", Repo(model()))
        repo.api = lambda h, nth: (h.reply(code, b"odd\nrequest" if code == 400 else b"", headers), True)[1]
        _, err = b.run("download", "o/m", status=1, **env)
        has(err, word)
        same(len(repo.asked), 1)
    _, err = b.run("download", "o/none", status=1)
    has(err, "has no model o/none")
    _, err = b.run("download", "o/m", "--revision", "v9", status=1)
    repo.api = None
    _, err = b.run("download", "o/m", "--revision", "v9", status=1)
    has(err, 'o/m has no revision "v9"')


@case
def a_file_gated_or_lost_behind_an_open_record_is_explained(b):
    repo = b.hub.add("o/m", Repo(model()))
    repo.odd["model.safetensors"] = lambda h, nth: (h.reply(403, b"", [("X-Error-Code", "GatedRepo")]), True)[1]
    _, err = b.run("download", "o/m", status=1)
    has(err, "o/m is gated")
    repo.odd["model.safetensors"] = lambda h, nth: (h.reply(404), True)[1]
    _, err = b.run("download", "o/m", status=1)
    has(err, "model.safetensors: not found on")


@case
def usage_errors(b):
    for args in ([], ["a/b", "c/d"], ["a/b", "--frobnicate"], ["a/b", "--local-dir", "x", "--models-dir", "y"], ["a/b", "--revision", ""]):
        b.run("download", *args, status=2)
    for bad in ("a/b/c", "../x", "a/..", "a b/c", "https://huggingface.co/a/b", "", ".a/b", "a/b.partial", "a/b.lock"):
        _, err = b.run("download", bad, status=1)
        has(err, "does not name a model|the store's own")
    for bad in ("ftp://x", "huggingface.co", "http://", "http://a b", "http://x?y"):
        _, err = b.run("download", "o/m", HF_ENDPOINT=bad, status=1)
        has(err, "HF_ENDPOINT=.* is no address")
    _, err = b.run("download", "o/m", HF_ENDPOINT="http://me:%s@127.0.0.1" % TOKEN, status=1)
    has(err, "user name or password")
    _, err = b.run("download", "o/m", HF_HUB_DOWNLOAD_TIMEOUT="0", status=1)
    has(err, "a whole number from 1 to 3600")


@case
def offline_asks_nobody(b):
    repo = b.hub.add("o/m", Repo(model()))
    _, err = b.run("download", "o/m", "--offline", status=1)
    has(err, "--offline or LLAMA_ARG_OFFLINE forbids")
    _, err = b.run("download", "o/m", status=1, LLAMA_ARG_OFFLINE="true")
    has(err, "forbids")
    _, err = b.run("download", "o/m", status=1, LLAMA_ARG_OFFLINE="perhaps")
    has(err, "LLAMA_ARG_OFFLINE=perhaps: accepted are")
    same(repo.asked, [])
    b.run("download", "o/m", LLAMA_ARG_OFFLINE="0")
    n = len(repo.asked)
    out, _ = b.run("download", "o/m", "--offline")
    same((out, len(repo.asked)), (b.path("o/m") + "\n", n))


# ---- places ---------------------------------------------------------------------------------------------------------

@case
def a_newer_commit_replaces_only_by_force(b):
    repo = b.hub.add("o/m", Repo(model()))
    b.run("download", "o/m")
    old = repo.files["model.safetensors"]
    repo.commit = "f" * 40
    repo.files = {"config.json": b"{ }", "model.safetensors": noise(1000, 7)}
    _, err = b.run("download", "o/m")
    has(err, r"o/m is here at commit 0123456789ab; the hub is at ffffffffffff now \(--force fetches that\)")
    same(b.read("o/m/model.safetensors"), old)
    _, err = b.run("download", "o/m", "--revision", "v1", status=1)
    has(err, r"holds o/m at 0123456789ab \(revision main\); v1 is at ffffffffffff now: --force replaces it")
    b.run("download", "o/m", "--force")
    same(b.tree("o/m"), [".mlxcel.json", "config.json", "model.safetensors"])
    same(b.read("o/m/model.safetensors"), noise(1000, 7))
    same(os.listdir(b.path("o")), ["m"])


@case
def a_local_folder_takes_the_files(b):
    repo = b.hub.add("o/m", Repo(model()))
    where = os.path.join(b.home, "mine/deep")
    out, _ = b.run("download", "o/m", "--local-dir", where)
    same(out, where + "\n")
    same(sorted(os.listdir(where)), [".mlxcel.json", "config.json", "model.safetensors", "tokenizer.json"])
    assert not os.path.exists(b.store)
    b.run("download", "o/m", "--local-dir", where)
    same(len(repo.asked), 5)


@case
def a_users_own_file_is_not_replaced_unasked(b):
    repo = b.hub.add("o/m", Repo(model(), plain=["config.json"]))
    where = os.path.join(b.home, "mine")
    os.makedirs(where)
    config = os.path.join(where, "config.json")
    with open(config, "w") as f:
        f.write("my own")
    _, err = b.run("download", "o/m", "--local-dir", where, status=1)
    has(err, "config.json is there already and is not the hub's; --force replaces it")
    with open(config) as f:
        same(f.read(), "my own")
    b.run("download", "o/m", "--local-dir", where, "--force")
    with open(config, "rb") as f:
        same(f.read(), repo.files["config.json"])


@case
def two_downloads_of_a_model_exclude_each_other(b):
    repo = b.hub.add("o/m", Repo(model()))
    repo.odd["model.safetensors"] = lambda h, nth: nth == 1 and trickle(h, repo.files["model.safetensors"], 60000, 0.5)
    p = subprocess.Popen([PROGRAM, "download", "o/m"], env=b.env(), stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    part = b.path("o/m.partial/.model.safetensors.part")
    wait_for(lambda: os.path.exists(part))
    _, err = b.run("download", "o/m", status=1)
    has(err, "process %d is at work on this model" % p.pid)
    _, err = b.run("rm", "o/m", "--yes", status=1)
    has(err, "is at work on this model")
    p.communicate(timeout=30 * SLOW)
    same(p.returncode, 0)
    same(b.read("o/m/model.safetensors"), repo.files["model.safetensors"])
    same(os.listdir(b.path("o")), ["m"])


@case
def a_disk_that_takes_no_more_keeps_the_part(b):
    repo = b.hub.add("o/m", Repo(model(400000)))
    p = subprocess.run(["sh", "-c", 'trap "" XFSZ; ulimit -f 293; exec "$0" "$@"', PROGRAM, "download", "o/m"], env=b.env(), capture_output=True,
                       timeout=60 * SLOW)
    same(p.returncode, 1)
    has(p.stderr.decode(), "model.safetensors: File too large after 150016 of 400000 bytes; they are kept")
    b.run("download", "o/m")
    assert any(a[2].get("Range") == "bytes=150016-" for a in repo.asked)
    same(b.read("o/m/model.safetensors"), repo.files["model.safetensors"])


@case
def a_store_that_cannot_be_written_is_named(b):
    b.hub.add("o/m", Repo(model()))
    with open(b.store, "w") as f:
        f.write("a file")
    _, err = b.run("download", "o/m", status=1)
    has(err, re.escape(b.store))


@case
def links_planted_in_the_partial_folder_are_not_followed(b):
    b.hub.add("o/m", Repo(model()))
    victim = os.path.join(b.home, "victim")
    with open(victim, "w") as f:
        f.write("precious")
    os.makedirs(b.path("o/m.partial"))
    os.symlink(victim, b.path("o/m.partial/.model.safetensors.part"))
    b.run("download", "o/m", status=1)
    with open(victim) as f:
        same(f.read(), "precious")


# ---- a terminal -------------------------------------------------------------------------------------------------------

def on_terminal(b, args, answer=None, **env):
    fd, side = pty.openpty()
    p = subprocess.Popen([PROGRAM, *args], env=b.env(**{"TERM": "xterm", **env}), stdin=side, stdout=side, stderr=side, start_new_session=True)
    os.close(side)
    out = b""
    if answer is not None:
        while b"[y/N]" not in out:
            out += os.read(fd, 1000)
        os.write(fd, answer)
    try:
        while True:
            part = os.read(fd, 65536)
            if not part:
                break
            out += part
    except OSError:
        pass  # the other side is closed
    os.close(fd)
    return p.wait(20 * SLOW), out.decode()


@case
def a_terminal_sees_one_line_that_moves(b):
    repo = b.hub.add("o/m", Repo(model()))
    repo.odd["model.safetensors"] = lambda h, nth: trickle(h, repo.files["model.safetensors"], 60000, 0.3)
    for env in ({}, {"NO_COLOR": "1"}):
        status, out = on_terminal(b, ["download", "o/m", "--force"], **env)
        same(status, 0)
        has(out, r"\[#+\.+\] +\d+ % of 293.0 KiB  .*/s  \d\d:\d\d  2/3 model.safetens")
        same(re.findall(r"\x1b\[[0-9;]*m", out), [])
        assert all(len(re.sub(r"\x1b\[K", "", line)) <= 79 for line in re.split("[\r\n]", out) if "[#" in line)
    status, out = on_terminal(b, ["download", "o/m", "--force"], TERM="dumb")
    assert "#" not in out


@case
def rm_asks_on_a_terminal(b):
    b.hub.add("o/m", Repo(model()))
    b.run("download", "o/m")
    for answer in (b"\n", b"n\n", b"yonder\n", b"\x04"):
        status, out = on_terminal(b, ["rm", "o/m"], answer)
        same(status, 0)
        has(out, r"remove o/m \(293.1 KiB\) from .*\? \[y/N\]", "Aborted")
        assert os.path.isdir(b.path("o/m"))
    status, out = on_terminal(b, ["rm", "o/m"], b"y\n")
    same(status, 0)
    assert not os.path.exists(b.path("o"))


# ---- rm and list ----------------------------------------------------------------------------------------------------

@case
def rm_needs_yes_without_a_terminal(b):
    b.hub.add("o/m", Repo(model()))
    b.run("download", "o/m")
    _, err = b.run("rm", "o/m", status=1)
    has(err, "give --yes to remove o/m")
    _, err = b.run("rm", "o/m", "-y", "--revision", "v1", status=1)
    has(err, "is of revision main")
    out, _ = b.run("rm", "o/m", "-y", "--revision", COMMIT)
    has(out, r"^removed o/m \(293\.1 KiB\)")
    assert not os.path.exists(b.path("o"))
    _, err = b.run("rm", "o/m", "-y", status=1)
    has(err, "has no model o/m")
    b.run("rm", status=2)
    for bad in ("../store", "/", ".", "a/../..", ""):
        _, err = b.run("rm", bad, "-y", status=1)
        has(err, "does not name a model")


@case
def rm_takes_unfinished_downloads_too(b):
    os.makedirs(b.path("o/m.partial/sub"))
    with open(b.path("o/m.partial/sub/x"), "w") as f:
        f.write("x")
    b.run("rm", "o/m", "-y")
    assert not os.path.exists(b.path("o"))


@case
def rm_never_touches_the_hugging_face_cache(b):
    entry = os.path.join(b.home, ".cache/huggingface/hub/models--o--m")
    os.makedirs(entry + "/refs")
    os.makedirs(entry + "/snapshots/abc")
    with open(entry + "/refs/main", "w") as f:
        f.write("abc\n")
    with open(entry + "/snapshots/abc/config.json", "w") as f:
        f.write("{}")
    _, err = b.run("rm", "o/m", "--yes", status=1)
    has(err, "lies in the Hugging Face cache only")
    assert os.path.exists(entry + "/snapshots/abc/config.json")


@case
def rm_follows_no_link(b):
    outside = os.path.join(b.home, "outside")
    os.makedirs(outside + "/deep")
    with open(outside + "/deep/file", "w") as f:
        f.write("precious")
    os.makedirs(b.path("o/m"))
    os.symlink(outside, b.path("o/m/link"))
    os.symlink(outside, b.path("o/whole"))
    os.symlink(outside, b.path("linked"))
    b.run("rm", "o/m", "--yes")
    b.run("rm", "o/whole", "--yes")
    _, err = b.run("rm", "linked/deep", "--yes", status=1)
    has(err, "links are not followed")
    assert os.path.exists(outside + "/deep/file")
    assert not os.path.exists(b.path("o"))


@case
def list_shows_the_store(b):
    out, _ = b.run("list")
    has(out, "^no models in ~/store\nmlxcel download .* mlxcel arch")
    same(b.run("list", "--json")[0], "[]\n")
    same(b.run("ls", "-q")[0], "")
    now = time.time()
    for name, size, age in (("o/b", 3 << 20, 30), ("o/a", 1500, 3 * 3600 + 5), ("o/" + "long" * 12, 10, 40 * 86400), ("p/old", 1 << 10, 800 * 86400)):
        os.makedirs(b.path(name))
        with open(b.path(name, "model.gguf"), "wb") as f:
            f.truncate(size)
        os.utime(b.path(name, "model.gguf"), (now - age, now - age))
    os.makedirs(b.path("q/none"))
    os.makedirs(b.path(".hidden/x"))
    out, _ = b.run("list")
    same([re.sub(" +", " ", line).rstrip() for line in out.splitlines()],
         ["5 models \u00b7 3.0 MiB \u00b7 ~/store", "NAME SIZE MODIFIED", "o/a 1.5 KiB 3 hours ago", "o/b 3.0 MiB just now",
          ("o/" + "long" * 12)[:39] + "\u2026 10 B 1 month ago", "p/old 1.0 KiB 2 years ago", "q/none 0 B -"])
    rows = json.loads(b.run("list", "--json", "--sort", "size")[0])
    same([r["repo_id"] for r in rows], ["o/b", "o/a", "p/old", "o/" + "long" * 12, "q/none"])
    same(sorted(rows[0]), ["modified", "path", "repo_id", "size_bytes"])
    same((rows[0]["size_bytes"], rows[0]["path"], rows[4]["modified"]), (3 << 20, b.path("o/b"), None))
    assert abs(rows[0]["modified"] - (now - 30)) <= 1
    same(b.run("list", "-q", "--sort", "modified")[0].split(), ["o/b", "o/a", "o/" + "long" * 12, "p/old", "q/none"])
    has(b.run("list", "-v")[0], "MODIFIED +PATH", "just now +" + re.escape(b.path("o/b")))
    b.run("list", "-q", "--json", status=2)
    b.run("list", "--sort", "colour", status=2)


@case
def a_model_that_is_not_there_is_hinted_at(b):
    _, err = b.run("inspect", "o/m", status=1)
    has(err, r"no model o/m: looked in .*\(mlxcel download o/m fetches it\)")
    os.makedirs(b.path("o/m"))
    with open(b.path("o/m/config.json"), "w") as f:
        f.write("{}")
    with open(b.path("o/m/model.safetensors.index.json"), "w") as f:
        f.write('{"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}}')
    with open(b.path("o/m/model-00001-of-00002.safetensors"), "w") as f:
        f.write("x")
    _, err = b.run("inspect", "o/m", status=1)
    has(err, r"no whole model o/m: .*/o/m lacks model-00002-of-00002.safetensors \(mlxcel download o/m fetches it\)")


# ---- the driver -----------------------------------------------------------------------------------------------------

def wait_for(condition):
    end = time.time() + 20 * SLOW
    while not condition():
        assert time.time() < end, "waited too long"
        time.sleep(0.02)


def run_case(f):
    b = Box()
    try:
        f(b)
        return None
    except Exception as e:  # whatever a case meets is its failure
        return "%s: %s" % (type(e).__name__, e)
    finally:
        b.close()


def main():
    global PROGRAM
    PROGRAM = os.path.abspath(sys.argv[1])
    wanted = [f for f in CASES if not sys.argv[2:] or f.__name__ in sys.argv[2:]]
    print("1..%d" % len(wanted))
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for i, (f, why) in enumerate(zip(wanted, pool.map(run_case, wanted)), 1):
            print("%s %d - %s" % ("not ok" if why else "ok", i, f.__name__))
            if why:
                failed += 1
                print("# " + why.replace("\n", "\n# "))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
