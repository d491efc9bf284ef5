#!/usr/bin/env python3
"""Write tests/data/quant/: packed weights and the f32 values that the reference packages give them.

    make_quant_vectors.py [OUTDIR]

One file per case, little-endian: the bytes "CELQ", then u32 each: number of packed, scale and bias bytes,
number of f32 values; then these four arrays. GGUF blocks have no scales and biases.
    gguf_NAME.bin                random blocks (finite scales, of every sign, subnormal ones included);
                                 values by gguf.quants.dequantize
    affine_BITS_GROUP_TYPE.bin   one row of three groups of random words; values
                                 f32(q * scale) + bias in numpy, checked against mlx.core.dequantize with f32
                                 scales and biases
    plain_TYPE.bin               bit patterns of the plain float types; values by numpy
Needs: numpy, gguf, mlx, torch.
"""
import os, struct, sys
import numpy as np
import gguf
import mlx.core as mx

out = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..", "data", "quant")
rng = np.random.default_rng(20)


def write(name, packed, scales, biases, values):
    parts = [np.ascontiguousarray(a).tobytes() for a in (packed, scales, biases)]
    values = np.ascontiguousarray(values, np.float32)
    with open(os.path.join(out, name + ".bin"), "wb") as f:
        f.write(b"CELQ" + struct.pack("<4I", *(len(p) for p in parts), values.size))
        f.write(b"".join(parts) + values.tobytes())


def halves(n):
    """Finite f16 of every kind: ordinary weights' scales, large, subnormal, zero, negative."""
    h = (rng.standard_normal(n) * 10.0 ** rng.integers(-7, 4, n)).astype(np.float16)
    h[rng.integers(0, n, n // 8 + 1)] = 0
    return h


def blocks(kind, n):
    _, size = gguf.GGML_QUANT_SIZES[kind]
    b = rng.integers(0, 256, (n, size), dtype=np.uint8)
    places = {"Q4_0": [0], "Q5_0": [0], "Q8_0": [0], "Q4_1": [0, 2], "Q5_1": [0, 2], "Q4_K": [0, 2], "Q5_K": [0, 2],
              "Q6_K": [208], "Q2_K": [80, 82], "Q3_K": [108], "TQ1_0": [52], "TQ2_0": [64], "IQ4_NL": [0], "IQ4_XS": [0],
              "MXFP4": []}[kind.name]
    for at in places:
        b[:, at:at + 2] = halves(n).view(np.uint8).reshape(n, 2)
    return b


def gguf_cases():
    for name, n in dict(Q4_0=12, Q4_1=12, Q5_0=12, Q5_1=12, Q8_0=12, Q4_K=4, Q5_K=4, Q6_K=4).items():
        kind = gguf.GGMLQuantizationType[name]
        b = blocks(kind, n)
        write("gguf_" + name, b, b"", b"", gguf.quants.dequantize(b.reshape(1, -1), kind)[0])


def small_gguf_cases():
    for name, n in dict(Q2_K=4, Q3_K=4, TQ1_0=4, TQ2_0=4, IQ4_NL=12, IQ4_XS=4, MXFP4=12).items():
        kind = gguf.GGMLQuantizationType[name]
        b = blocks(kind, n)
        if name == "MXFP4":
            b[:, 0] = [0, 1, 2, 3, 100, 120, 126, 127, 128, 130, 200, 250]  # exponents: subnormal, ordinary, huge
        write("gguf_" + name, b, b"", b"", gguf.quants.dequantize(b.reshape(1, -1), kind)[0])


def rare_cases():
    """What the gguf package has no decoder for, by the formats' own words; eight-bit floats by torch."""
    q = rng.integers(-128, 128, (6, 32), dtype=np.int8)
    d = halves(6)
    write("gguf_Q8_1", np.concatenate([d.view(np.uint8).reshape(6, 2), np.zeros((6, 2), np.uint8), q.view(np.uint8)], 1), b"", b"",
          q.astype(np.float32) * d.astype(np.float32)[:, None])
    q = rng.integers(-128, 128, (2, 256), dtype=np.int8)
    d = rng.standard_normal(2).astype(np.float32)
    write("gguf_Q8_K", np.concatenate([d.view(np.uint8).reshape(2, 4), q.view(np.uint8), np.zeros((2, 32), np.uint8)], 1), b"", b"",
          d[:, None] * q.astype(np.float32))
    import torch
    every = np.arange(256, dtype=np.uint8)
    for name, kind, nan in (("F8_E4M3", torch.float8_e4m3fn, 0x7F), ("F8_E5M2", torch.float8_e5m2, 0x7D)):
        v = every[~np.isin(every & 0x7F, [nan] if nan == 0x7F else [0x7D, 0x7E, 0x7F])]
        write("plain_" + name, v, b"", b"", torch.from_numpy(v.copy()).view(kind).float().numpy())


def mode_cases():
    """MLX's floating modes; every byte value occurs among the scales that are finite."""
    for mode, bits, group in (("mxfp4", 4, 32), ("mxfp8", 8, 32), ("nvfp4", 4, 16)):
        cols = 8 * group
        words = rng.integers(0, 2**32, cols * bits // 32, dtype=np.uint32)
        if bits == 8:  # no NaN
            bytes_ = words.view(np.uint8)
            bytes_[(bytes_ & 127) == 127] = 1
        scales = np.array([120, 127, 128, 130, 100, 64, 1, 140], np.uint8) if mode != "nvfp4" else \
            np.array([0x38, 0x01, 0x7E, 0x40, 0x08, 0x30, 0x55, 0x00], np.uint8)
        values = mx.dequantize(mx.array(words.reshape(1, -1)), mx.array(scales.reshape(1, -1)), group_size=group, bits=bits,
                               mode=mode, dtype=mx.float32, stream=mx.cpu)
        write("mode_" + mode, words, scales, b"", np.array(values)[0])


def fp8_case():
    """E4M3 bytes, an f32 scale for every 64; values by torch."""
    import torch
    own = np.random.default_rng(8)
    q = own.integers(0, 256, 512, dtype=np.uint8)
    q[(q & 127) == 127] = 1  # no NaN
    q[:126] = np.arange(1, 127)
    scales = (own.standard_normal(8) * 10.0 ** own.integers(-6, 2, 8)).astype(np.float32)
    values = torch.from_numpy(q.copy()).view(torch.float8_e4m3fn).float().numpy() * np.repeat(scales, 64)
    write("mode_fp8", q, scales, b"", values)


def unpack(words, bits, n):
    stream = np.unpackbits(words.view(np.uint8), bitorder="little")
    return (stream[:n * bits].reshape(n, bits) << np.arange(bits)).sum(1).astype(np.float32)


def to_f32(a, kind):
    return (a.astype(np.uint32) << 16).view(np.float32) if kind == "BF16" else a.astype(np.float32)


def affine_case(bits, group, kind):
    cols = 3 * group
    words = rng.integers(0, 2**32, cols * bits // 32, dtype=np.uint32)
    raw = rng.standard_normal((2, 3)).astype(np.float32) * 0.05
    if kind == "BF16":
        raw = (raw.view(np.uint32) >> 16).astype(np.uint16)
    else:
        raw = raw.astype({"F16": np.float16, "F32": np.float32}[kind])
    scale, bias = (np.repeat(to_f32(r, kind), group) for r in raw)
    values = (unpack(words, bits, cols) * scale).astype(np.float32) + bias
    mlx = mx.dequantize(mx.array(words.reshape(1, -1)), mx.array(to_f32(raw[0], kind).reshape(1, 3)),
                        mx.array(to_f32(raw[1], kind).reshape(1, 3)), group_size=group, bits=bits, mode="affine",
                        stream=mx.cpu)
    assert np.array_equal(np.array(mlx)[0].view(np.uint32), values.view(np.uint32)), (bits, group, kind)
    write(f"affine_{bits}_{group}_{kind}", words, raw[0], raw[1], values)


def plain_cases():
    h = np.concatenate([np.arange(0, 0x7C01, 97, dtype=np.uint16), np.arange(0x8000, 0xFC01, 101, dtype=np.uint16)])
    write("plain_F16", h, b"", b"", h.view(np.float16).astype(np.float32))
    h = h[::4]
    write("plain_BF16", h, b"", b"", (h.astype(np.uint32) << 16).view(np.float32))
    d = np.concatenate([rng.standard_normal(60) * 10.0 ** rng.integers(-44, 38, 60), [0.1, -0.0, 1 + 2**-24, 1 + 3 * 2**-24]])
    write("plain_F64", d, b"", b"", d.astype(np.float32))
    f = rng.standard_normal(32).astype(np.float32)
    write("plain_F32", f, b"", b"", f)


os.makedirs(out, exist_ok=True)
gguf_cases()
for bits in (2, 3, 4, 5, 6, 8):
    for group, kind in ((32, "F32"), (64, "F16"), (128, "BF16")):
        affine_case(bits, group, kind)
plain_cases()
small_gguf_cases()
rare_cases()
mode_cases()
fp8_case()
