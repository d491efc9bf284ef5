#!/usr/bin/env python3
"""Write tests/data/quantize/: f32 values and what the reference packages make of them.

    make_quantize_vectors.py [OUTDIR]

One file per case, little-endian: the bytes "CELQ", then u32 each: number of packed, scale and bias bytes, number of f32
values; then these four arrays (as make_quant_vectors.py writes them). The values are exact in the case's type.
    affine_BITS_GROUP_TYPE.bin   mx.quantize(mode="affine") of values of that type, on the CPU
    mode_MODE_TYPE.bin           the same for the floating modes
    blocks_NAME.bin              gguf.quants.quantize
Among the rows: ordinary weights, one sign only, constants, zeros, tiny and large ones, ties, largest values
just above powers of two.
Needs: numpy, gguf, mlx.
"""
import os
import struct
import sys

import gguf
import mlx.core as mx
import numpy as np

out = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..", "data", "quantize")
rng = np.random.default_rng(7)
TYPES = {"F32": mx.float32, "F16": mx.float16, "BF16": mx.bfloat16}


def write(name, packed, scales, biases, values):
    parts = [np.ascontiguousarray(a).tobytes() for a in (packed, scales, biases)]
    values = np.ascontiguousarray(values, np.float32)
    with open(os.path.join(out, name + ".bin"), "wb") as f:
        f.write(b"CELQ" + struct.pack("<4I", *(len(p) for p in parts), values.size))
        f.write(b"".join(parts) + values.tobytes())


def groups(group, ties):
    """One row of groups of every kind."""
    normal = lambda: rng.standard_normal(group)
    kinds = [normal() * 0.03, normal() * 0.03 + 0.01, np.abs(normal()), -np.abs(normal()), np.full(group, 0.125), np.zeros(group),
             normal() * 2e-4, normal() * 100, np.where(rng.random(group) < 0.9, 0, normal()), np.full(group, -3.0)]
    kinds[5][:2] = -0.0
    kinds.append(normal() * 1e-6)
    for top in (6, 448):  # largest values just above a power of two of the largest number
        for j in (2, 5, 8, 11):
            w = normal()
            kinds.append(w / np.abs(w).max() * top * 2.0**-j * 1.006)
    kinds.append(np.resize(np.array(ties) * rng.choice([1, -1], len(ties)), group))
    return np.concatenate(kinds).astype(np.float32)


TIES = [6, 0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5, 0.1, 0.3, 1, 5.5, 4.9, 0, 2, 3]


def raw(a):
    """The bytes of an mlx array of any float type."""
    return np.array(a.view(mx.uint8)) if a.dtype != mx.uint32 else np.array(a)


def mlx_case(name, values, kind, **how):
    w = mx.array(values.reshape(1, -1)).astype(TYPES[kind])
    packed, scales, *biases = mx.quantize(w, stream=mx.cpu, **how)
    exact = np.array(w.astype(mx.float32))[0]
    write(name, raw(packed), raw(scales), raw(biases[0]) if biases else b"", exact)


def gguf_case(kind):
    values = groups(32, [8, 0.5, 1.5, 2.5, 3.5, 7.5, -7.5, 127, 63.5, 0])
    write("blocks_" + kind.name, gguf.quants.quantize(values.reshape(1, -1), kind), b"", b"", values)


os.makedirs(out, exist_ok=True)
for bits in (2, 3, 4, 5, 6, 8):
    for i, group in enumerate((32, 64, 128)):
        kind = list(TYPES)[(bits + i) % 3]
        values = groups(group, TIES)[:8 * group] if group == 128 else groups(group, TIES)
        mlx_case("affine_%d_%d_%s" % (bits, group, kind), values, kind, bits=bits, group_size=group, mode="affine")
for mode, bits, group in (("mxfp4", 4, 32), ("mxfp8", 8, 32), ("nvfp4", 4, 16)):
    for kind in TYPES:
        mlx_case("mode_%s_%s" % (mode, kind), groups(group, TIES), kind, bits=bits, group_size=group, mode=mode)
for kind in (gguf.GGMLQuantizationType.Q8_0, gguf.GGMLQuantizationType.Q4_0):
    gguf_case(kind)
