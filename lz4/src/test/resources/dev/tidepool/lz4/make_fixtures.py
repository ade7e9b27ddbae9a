"""Makes the LZ4 files beside it with NumPy and the lz4 command (1.9.4)."""

import subprocess

import numpy

# Numbers that repeat, so that matches are long and short, then noise, so that blocks are stored.
values = (numpy.arange(60000) % 100).astype(numpy.float32)
state = 1
noise = numpy.empty(500, numpy.uint32)
for i in range(len(noise)):
    state = (state * 1664525 + 1013904223) % 2**32
    noise[i] = state >> 9 | 0x3F800000
numpy.save("plain.npy", numpy.concatenate([values, noise.view(numpy.float32)]))

for name, options in {
    "default": [],
    "small-blocks": ["-B4", "-BX", "--content-size"],
    "linked": ["-B4", "-BD"],
    "unchecked": ["-B4", "--no-frame-crc"],
    "high": ["-9", "-B5"],
}.items():
    subprocess.run(["lz4", "-q", "-f", *options, "plain.npy", name + ".npy.lz4"], check=True)
