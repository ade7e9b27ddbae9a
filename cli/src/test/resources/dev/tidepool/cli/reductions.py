"""Writes cases for the tests of reductions in `tidepool eval`.

    reductions.py FOLDER SEED

The folder gets .npy files and reductions.tsv, a line each: a title, what NumPy prints, how far a number may
be from it, and the arguments of `tidepool eval` (tabs between). Sums of floats are compared with the
correctly rounded sum, which NumPy's own pairwise sums do not always meet.
"""

import math
import os
import pathlib
import sys

os.environ["NPY_PROMOTION_STATE"] = "weak"
import numpy as np  # noqa: E402

folder = pathlib.Path(sys.argv[1])
random = np.random.default_rng(int(sys.argv[2]))
np.seterr(all="ignore")

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
SIZES = [0, 1, 7, 1_000_003]
lines = []
files = {}


def save(name, values):
    path = folder / f"{name}.npy"
    np.save(path, values)
    return values, str(path)


def text(value):
    if isinstance(value, np.ndarray):
        return " ".join(str(int(count)) for count in value)
    if value.dtype == np.bool_:
        return "true" if value else "false"
    # A float32 in its own shortest form, not in that of the double that it is.
    return str(value) if value.dtype.kind == "f" else str(value.item())


def case(title, expression, path, expected, allowed=0.0, more=()):
    lines.append("\t".join([title, text(expected), repr(float(allowed)), expression, f"x={path}", *more]))


def float_sum(values, dtype):
    """The correctly rounded sum in a type, and how far a pairwise sum in double may be from it."""
    exact = math.fsum(values.astype(np.float64).tolist())
    magnitude = math.fsum(np.abs(values.astype(np.float64)).tolist())
    pairwise = (14 + max(0, math.log2(max(1, len(values)) / 1024))) * 2.0**-53 * magnitude
    rounding = float(np.spacing(np.abs(dtype.type(exact)))) / 2 if dtype == np.float32 else 0
    return dtype.type(exact), pairwise + rounding


def finite(dtype, size):
    return (random.normal(size=size) * 10.0 ** random.uniform(-6, 6, size)).astype(dtype)


for dtype in map(np.dtype, ["float32", "float64"]):
    for size in SIZES:
        x, path = save(f"{dtype}-{size}", finite(dtype, size))
        case(f"sum of {size} {dtype}", "s = sum(x)", path, *float_sum(x, dtype))
        case(f"sum of squares of {size} {dtype}", "s = sum(x*x)", path, *float_sum(x * x, dtype))
        low, high = -1000.5, 777.25
        counts = np.histogram(x, bins=33, range=(low, high))[0]
        case(f"histogram of {size} {dtype}", "h = histogram(x, 33, -1000.5, 777.25)", path, counts)
        if size:
            total, error = float_sum(x, dtype)
            mean = dtype.type(math.fsum(x.astype(np.float64).tolist()) / size)
            rounding = float(np.spacing(np.abs(mean)))
            case(f"mean of {size} {dtype}", "m = mean(x)", path, mean, error / size + rounding)
            case(f"min of {size} {dtype}", "m = min(x)", path, np.min(x))
            case(f"max of {size} {dtype}", "m = max(x - 1)", path, np.max(x - 1))
        else:
            case(f"mean of no {dtype}", "m = mean(x)", path, dtype.type(np.nan))
    for special in ([np.nan], [np.inf], [-np.inf], [np.inf, -np.inf], [np.inf, np.nan]):
        x = finite(dtype, 5000)
        x[random.choice(5000, len(special), replace=False)] = special
        x, path = save(f"{dtype}-special-{len(lines)}", x)
        for name in ("sum", "min", "max", "mean"):
            result = getattr(np, name)(x)
            if not np.isfinite(result):
                case(f"{name} of {dtype} with {special}", f"s = {name}(x)", path, result)
        counts = np.histogram(x, bins=7, range=(-3.0, 4.0))[0]
        case(f"histogram of {dtype} with {special}", "h = histogram(x, 7, -3, 4)", path, counts)
    # What cancels: large values and their opposites, shuffled, with small ones between.
    large = finite(dtype, 100_000) * dtype.type(1e12)
    x = np.concatenate([large, -large, finite(dtype, 1000)])
    random.shuffle(x)
    x, path = save(f"{dtype}-cancelling", x)
    case(f"sum of {dtype} that cancels", "s = sum(x)", path, *float_sum(x, dtype))
    # Values on and beside the edges of bins.
    edges = np.linspace(0, 1, 11, dtype=dtype)
    x = np.concatenate([edges, np.nextafter(edges, dtype.type(2)), np.nextafter(edges, dtype.type(-1))])
    x, path = save(f"{dtype}-edges", x)
    case(f"histogram of {dtype} on edges", "h = histogram(x, 10, 0, 1)", path,
         np.histogram(x, bins=10, range=(0.0, 1.0))[0])
    case(f"histogram of {dtype} of one value", "h = histogram(x, 4, 1, 1)", path,
         np.histogram(x, bins=4, range=(1.0, 1.0))[0])

for dtype in map(np.dtype, INTEGERS):
    limits = np.iinfo(dtype)
    for size in SIZES:
        values = random.integers(limits.min, limits.max, size, dtype=dtype, endpoint=True)
        x, path = save(f"{dtype}-{size}", values)
        case(f"sum of {size} {dtype}", "s = sum(x)", path, np.sum(x))
        case(f"sum of {size} products of {dtype}", "s = sum(x*x)", path, np.sum(x * x))
        if size:
            case(f"min of {size} {dtype}", "m = min(x)", path, np.min(x))
            case(f"max of {size} {dtype}", "m = max(x)", path, np.max(x))
            total, error = float_sum(x, np.dtype("float64"))
            mean = np.float64(total / size)
            case(f"mean of {size} {dtype}", "m = mean(x)", path, mean, error / size + np.spacing(np.abs(mean)))
        counts = np.histogram(x, bins=5, range=(0.0, 100.0))[0]
        case(f"histogram of {size} {dtype}", "h = histogram(x, n, low, 100)", path, counts,
             more=("n=5", "low=0"))

for size in SIZES:
    x, path = save(f"bool-{size}", random.integers(0, 2, size).astype(bool))
    case(f"sum of {size} bool", "s = sum(x)", path, np.sum(x))
    if size:
        case(f"mean of {size} bool", "m = mean(x)", path, np.mean(x), 1e-15)
        case(f"min of {size} bool", "m = min(x)", path, np.min(x))
        case(f"max of {size} bool", "m = max(x)", path, np.max(x))

(folder / "reductions.tsv").write_text("\n".join(lines) + "\n")
