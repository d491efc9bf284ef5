"""safetensors and GGUF, read and written with nothing but the standard library."""
import json
import os
import struct


def safetensors(path):
    """name -> (dtype, shape, bytes) of a file or of a folder's files."""
    if os.path.isdir(path):
        out = {}
        for name in sorted(os.listdir(path)):
            if name.endswith(".safetensors"):
                out.update(safetensors(os.path.join(path, name)))
        return out
    with open(path, "rb") as f:
        data = f.read()
    n = struct.unpack("<Q", data[:8])[0]
    head = json.loads(data[8:8 + n])
    head.pop("__metadata__", None)
    body = data[8 + n:]
    return {k: (v["dtype"], v["shape"], body[v["data_offsets"][0]:v["data_offsets"][1]]) for k, v in head.items()}


def write_safetensors(path, tensors):
    head, at = {}, 0
    for name, (dtype, shape, data) in tensors.items():
        head[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(head).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for _, _, data in tensors.values():
            f.write(data)


SIZES = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
BLOCKS = {0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 8: (32, 34), 30: (1, 2)}  # elements and bytes of a block


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, form):
        v = struct.unpack_from("<" + form, self.data, self.at)[0]
        self.at += struct.calcsize("<" + form)
        return v

    def text(self):
        n = self.take("Q")
        self.at += n
        return self.data[self.at - n:self.at].decode("utf-8", "surrogateescape")

    def value(self, kind):
        if kind == 8:
            return self.text()
        if kind == 9:
            item, n = self.take("I"), self.take("Q")
            return [self.value(item) for _ in range(n)]
        return self.take(SIZES[kind])


def gguf(path):
    """(metadata, name -> (type, dims innermost first, bytes)); metadata values with their kinds in .kinds order."""
    with open(path, "rb") as f:
        r = Reader(f.read())
    assert r.data[:4] == b"GGUF" and struct.unpack("<I", r.data[4:8])[0] == 3
    r.at = 8
    n_tensors, n_values = r.take("Q"), r.take("Q")
    meta, infos = {}, []
    for _ in range(n_values):
        key = r.text()
        kind = r.take("I")
        start = r.at
        meta[key] = r.value(kind)
        meta.setdefault("", {})[key] = struct.pack("<I", kind) + r.data[start:r.at]  # as it lies in the file
    for _ in range(n_tensors):
        name = r.text()
        dims = [r.take("Q") for _ in range(r.take("I"))]
        infos.append((name, dims, r.take("I"), r.take("Q")))
    base = (r.at + 31) // 32 * 32
    tensors = {}
    for name, dims, kind, offset in infos:
        block, size = BLOCKS[kind]
        n = 1
        for d in dims:
            n *= d
        assert offset % 32 == 0
        tensors[name] = (kind, dims, r.data[base + offset:base + offset + n // block * size])
    return meta, tensors


def write_gguf(path, values, tensors):
    """values: key -> kind word and bytes as gguf() keeps them under ""."""
    text = lambda s: struct.pack("<Q", len(s.encode("utf-8", "surrogateescape"))) + s.encode("utf-8", "surrogateescape")
    out = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(values))
    for key, raw in values.items():
        out += text(key) + raw
    at, data = 0, b""
    for name, (kind, dims, raw) in tensors.items():
        out += text(name) + struct.pack("<I%dQIQ" % len(dims), len(dims), *dims, kind, len(data))
        data += raw + bytes(-len(raw) % 32)
    with open(path, "wb") as f:
        f.write(out + bytes(-len(out) % 32) + data)
