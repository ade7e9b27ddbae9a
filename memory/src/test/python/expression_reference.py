"""Writes what NumPy says of types and values, for the tests of the elementwise language.

    NPY_PROMOTION_STATE=weak python3 expression_reference.py OUTPUT_FOLDER

NumPy 1.24 to 1.26 need that variable to promote as NumPy 2 does (NEP 50). Where the language departs
from NumPy on purpose, the departure is named below.
"""

import os
import sys
import warnings

import numpy as np

warnings.simplefilter("ignore")

TYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
         "float32", "float64"]
SCALARS = {"True": True, "1": 1, "1.5": 1.5}
BINARY = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b,
    "/": lambda a, b: a / b, "//": lambda a, b: a // b, "%": lambda a, b: a % b,
    "**": np.power, "<<": lambda a, b: a << b, ">>": lambda a, b: a >> b,
    "&": lambda a, b: a & b, "|": lambda a, b: a | b, "^": lambda a, b: a ^ b,
    "&&": np.logical_and, "||": np.logical_or, "<": lambda a, b: a < b,
    "==": lambda a, b: a == b, "min": np.minimum, "max": np.maximum,
    "atan2": np.arctan2, "hypot": np.hypot,
}
UNARY = {
    "-": lambda a: -a, "~": lambda a: ~a, "!": np.logical_not, "abs": np.abs,
    "floor": np.floor, "ceil": np.ceil, "rint": np.rint, "sqrt": np.sqrt, "cbrt": np.cbrt,
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2,
    "log10": np.log10, "log1p": np.log1p, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh,
    "tanh": np.tanh,
}


def result_type(function, *args):
    try:
        name = str(function(*args).dtype)
    except TypeError:
        return "error"
    return "float32" if name == "float16" else name  # the language has no float16


def promotion(out):
    for name, function in UNARY.items():
        for a in TYPES:
            result = result_type(function, np.ones(2, a))
            if name in ("floor", "ceil") and not a.startswith("float"):
                result = a  # NumPy 2.1 keeps integers and booleans
            print(name, a, "", result, sep="\t", file=out)
    for name, function in BINARY.items():
        for a in TYPES:
            for b in TYPES + list(SCALARS):
                x = np.ones(2, a)
                y = SCALARS[b] if b in SCALARS else np.ones(2, b)
                print(name, a, b, result_type(function, x, y), sep="\t", file=out)
    for a in TYPES:
        for b in TYPES:
            result = np.where([True, False], np.ones(2, a), np.ones(2, b)).dtype
            print("?:", a, b, result, sep="\t", file=out)
    for a in TYPES:
        for b in TYPES:
            print("=", a, b, "ok" if np.can_cast(a, b, "same_kind") else "error", sep="\t", file=out)


def specials(name):
    if name.startswith("float"):
        info = np.finfo(name)
        return np.array([0.0, -0.0, -1, 2.5, -7, info.max, info.tiny / 4, np.inf, -np.inf, np.nan],
                        name)
    info = np.iinfo(name)
    chosen = [info.min, info.max, 0, 3, 7, -1, -7] if info.min < 0 else [0, 2, 7, 64, info.max]
    return np.array(chosen, name)


def bits(array):
    return array.view("u%d" % array.itemsize)


def values(out):
    arithmetic = ["+", "-", "*", "/", "//", "%", "**", "<<", ">>", "<", "==", "min", "max"]
    for kind in TYPES[1:]:
        a, b = (v.ravel() for v in np.meshgrid(specials(kind), specials(kind)))
        for name in arithmetic:
            floating = kind.startswith("float")
            if (floating and name in ("<<", ">>", "**")) or (name == "/" and not floating):
                continue
            keep = b >= 0 if name == "**" else np.ones(len(b), bool)  # NumPy refuses negative powers
            result = BINARY[name](a[keep], b[keep])
            for x, y, z in zip(bits(a[keep]), bits(b[keep]), bits(result)):
                print(name, kind, *("%x" % v for v in (x, y, z)), sep="\t", file=out)


if __name__ == "__main__":
    folder = sys.argv[1]
    with open(os.path.join(folder, "promotion.tsv"), "w") as out:
        promotion(out)
    with open(os.path.join(folder, "values.tsv"), "w") as out:
        values(out)
