#!/usr/bin/env python3
"""Writes the .npy files that the tests of dev.tidepool.stream read. Needs NumPy 1.24 or later.

    make_npy.py FOLDER

Element i of twelve is 37*i - 100 (integers, wrapped), 1.5*i - 4 (floats), i % 3 == 0 (booleans).
"""
import pathlib
import sys
import warnings

import numpy as np

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
warnings.simplefilter("ignore")

TYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
         "float32", "float64"]


def values(name):
    i = np.arange(12)
    if name == "bool":
        return i % 3 == 0
    if name.startswith("float"):
        return (1.5 * i - 4).astype(name)
    return (37 * i - 100).astype(name)


def save(name, array, version=None):
    with open(folder / (name + ".npy"), "wb") as file:
        np.lib.format.write_array(file, array, version)


for name in TYPES:
    save(name + "-little", values(name).astype(np.dtype(name).newbyteorder("<")))
    save(name + "-big", values(name).astype(np.dtype(name).newbyteorder(">")))

save("version-2", values("float32"), (2, 0))
save("version-3", values("float32"), (3, 0))
save("c-order", values("int32").reshape(3, 4))
save("fortran-order", np.asfortranarray(values("int32").reshape(3, 4)))
save("fortran-order-3d", np.asfortranarray(values("int16").reshape(2, 3, 2)))
save("fortran-column", np.asfortranarray(values("int32").reshape(12, 1)))
save("scalar", np.array(2.5))
save("empty", np.zeros((0,), "float32"))
save("empty-3d", np.zeros((3, 0, 2), "uint16"))
save("many-dimensions", values("int8").reshape((1,) * 29 + (12, 1)))

save("unsupported-object", np.array([{}, None], dtype=object))
save("unsupported-structured", np.zeros(2, dtype=[("a", "f4"), ("b", "i8")]))
save("unsupported-structured-utf8", np.zeros(2, dtype=[("\u03b1", "f4")]))
save("unsupported-complex64", np.zeros(2, "complex64"))
save("unsupported-float16", np.zeros(2, "float16"))
save("unsupported-longdouble", np.zeros(2, "longdouble"))
save("unsupported-string", np.array(["tide", "pool"]))
save("unsupported-bytes", np.array([b"tide"]))
save("unsupported-date", np.zeros(2, "datetime64[s]"))
save("unsupported-void", np.zeros(2, "V6"))
