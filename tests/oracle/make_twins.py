"""Twins of tiny checkpoints in the other forms models come in: MLX's, gpt-oss's MXFP4, eight-bit floats, GGUF.

  python make_twins.py [ID ...]     writes tests/data/oracle/<ID>/  (make_tiny.py must have run)
"""
import sys

import twins_fp8
import twins_gguf
import twins_global
import twins_mlx
import twins_stacked
from reference import setup

MAKERS = {**{name: twins_mlx.make for name in twins_mlx.MLX}, **{name: twins_stacked.make for name in twins_stacked.STACKED},
          **{name: twins_gguf.make_gguf for name in twins_gguf.GGUFS}, **{name: twins_fp8.make for name in twins_fp8.FP8}, **{name: twins_global.make for name in twins_global.GLOBAL}}

if __name__ == "__main__":
    setup()
    for one in sys.argv[1:] or MAKERS:
        MAKERS[one](one)
