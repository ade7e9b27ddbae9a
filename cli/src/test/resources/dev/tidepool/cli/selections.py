"""Writes cases for the tests of `tidepool eval --axis` and `--where`.

    selections.py FOLDER SEED

The folder gets .npy files and selections.tsv, a line each: a title, how far results may be from NumPy's
in units of the last place of the greatest sum of magnitudes, the file expected ('' if a value is
printed), the value, and the arguments of `tidepool eval` (tabs between), in which {out} stands for the
folder of the output r.npy.
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

TYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"]
lines = []
files = 0


def save(values):
    global files
    files += 1
    path = folder / f"selection-{files}.npy"
    np.save(path, values)
    return str(path)


def array(dtype, shape):
    dtype = np.dtype(dtype)
    if dtype == np.bool_:
        return random.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return random.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)
    return (random.normal(size=shape) * 10.0 ** random.uniform(-3, 3, shape)).astype(dtype)


def reduced(name, x, axis=None, where=None):
    """NumPy's reduction; sums and means of floats are exact and rounded once or twice."""
    function = getattr(np, name)
    more = {} if axis is None else {"axis": axis}
    if where is not None:
        more["where"] = where
        if name in ("min", "max"):
            limits = np.finfo(x.dtype) if x.dtype.kind == "f" else None
            if x.dtype == np.bool_:
                more["initial"] = name == "min"
            elif limits is not None:
                more["initial"] = np.inf if name == "min" else -np.inf
            else:
                limits = np.iinfo(x.dtype)
                more["initial"] = limits.max if name == "min" else limits.min
    dtype = function(np.zeros((1,), x.dtype)).dtype
    if name in ("sum", "mean") and dtype.kind == "f":
        exact = x.astype(np.float64) if where is None else np.where(where, x.astype(np.float64), 0)
        count = np.sum(np.ones(x.shape) if where is None else where, axis=axis)
        total = np.sum(exact, axis=axis) if exact.size == 0 else np.asarray(
            math.fsum(exact) if axis is None else np.apply_along_axis(math.fsum, axis, exact))
        result = np.asarray(total / count if name == "mean" else total).astype(dtype)
        return np.asfortranarray(result) if np.isfortran(x) and result.ndim > 1 else result
    return np.asarray(function(x, **more))


def case(title, expected, arguments):
    if expected.ndim == 0 and not any("{out}" in argument for argument in arguments):
        value = expected[()]
        text = ("true" if value else "false") if expected.dtype == bool else str(value)
        lines.append("\t".join([title, "", text, *arguments]))
    else:
        lines.append("\t".join([title, save(expected), "", *arguments]))


def along(x, shape, axes, options=(), label=""):
    path = save(x)
    for axis in axes:
        for name in ("sum", "mean", "min", "max"):
            if name in ("min", "max") and shape[axis] == 0:
                continue
            title = f"{name} of {x.dtype} {shape}{label} along axis {axis}"
            arguments = [f"r = {name}(x)", f"x={path}", "r={out}/r.npy", f"--axis={axis}", *options]
            case(title, reduced(name, x, axis), arguments)


for dtype in TYPES:
    along(array(dtype, (13, 7, 5)), (13, 7, 5), (0, 1, 2, -1))
    along(array(dtype, (1, 2100)), (1, 2100), (0, 1))
    x = array(dtype, (31, 300))
    path = save(x)
    mask = np.arange(300) % 7 != 0
    mask = np.broadcast_to(mask, x.shape).copy()
    mask[:, 5] = True
    mask[3, :] = True
    where = save(mask)
    for name in ("sum", "mean", "min", "max"):
        for axis in (0, 1):
            chosen = mask if axis == 1 or name not in ("mean", "min", "max") else mask | True
            if axis == 0:
                chosen = mask.copy()
                chosen[3, :] = True
            case(f"{name} of {dtype} where along {axis}", reduced(name, x, axis, chosen),
                 [f"r = {name}(x)", f"x={path}", f"m={save(chosen)}", "r={out}/r.npy", f"--axis={axis}",
                  "--where", "m"])
        case(f"{name} of {dtype} where", reduced(name, x[mask]),
             [f"r = {name}(x)", f"x={path}", f"m={where}", "--where", "m"])
    case(f"selected of {dtype}", x[mask], ["r = x", f"x={path}", f"m={where}", "r={out}/r.npy", "--where=m"])
    fortran = np.asfortranarray(x)
    case(f"selected of {dtype} in Fortran order", x[mask],
         ["r = x", f"x={save(fortran)}", f"m={where}", "r={out}/r.npy", "--where=m"])
    case(f"none of {dtype} selected", x[x != x],
         ["r = x", f"x={save(np.nan_to_num(x))}", "r={out}/r.npy", "--where=x != x"])
    case(f"sum of none of {dtype}", reduced("sum", x[x != x]), ["r = sum(x)", f"x={path}", "--where=x != x"])
    along(np.asfortranarray(array(dtype, (9, 8, 6))), (9, 8, 6), (0, 1, 2), label=" in Fortran order")

# Types that are asked for. Sums and means of floats are rounded once, to that type.
for dtype, asked in (("float64", "float32"), ("float32", "float64"), ("int32", "float64"), ("int32", "int16"),
                     ("uint64", "float32"), ("uint8", "uint32"), ("bool", "float32")):
    x = array(dtype, (13, 7))
    path = save(x)
    for axis in (0, 1):
        for name in ("sum", "mean", "min", "max"):
            if name == "mean" and not asked.startswith("float"):
                continue
            wide = x.astype(np.float64) if x.dtype.kind == "f" else x
            case(f"{name} of {dtype} along axis {axis} as {asked}", reduced(name, wide, axis).astype(asked),
                 [f"r = {name}(x)", f"x={path}", "r={out}/r.npy", f"--axis={axis}", "--dtype", asked])

# Several chunks, in which rows begin and end anywhere.
for shape, axes in (((700, 1013), (0, 1)), ((700_001,), (0,)), ((3, 250_001), (0, 1)), ((250_001, 3), (0, 1))):
    for dtype in ("float32", "float64", "int32"):
        along(array(dtype, shape), shape, axes, ["--chunk", "64k"])
for shape, axes in (((0, 3), (0, 1)), ((3, 0, 2), (0, 1, 2)), ((3, 0), (1,))):
    along(np.zeros(shape, dtype=np.float32), shape, axes)
x = array("float64", (500, 1009))
mask = x > 0
case("selected in chunks", x[mask] * 2,
     ["r = 2*x", f"x={save(x)}", "r={out}/r.npy", "--where", "x > 0", "--chunk=64k"])
total = x[mask].astype(np.longdouble)
case("sum where in chunks", np.asarray(total.sum().astype(np.float64)),
     ["r = sum(x)", f"x={save(x)}", "--where", "x > 0", "--chunk=64k"])
for special in (np.nan, np.inf, -np.inf):
    y = array("float32", (50, 60))
    y[3, 4] = special
    y[20, :] = special
    along(y, (50, 60), (0, 1), label=f" with {special}")
    counts = np.histogram(y[y > 0], bins=5, range=(0.0, 100.0))[0]
    lines.append("\t".join([f"histogram where, with {special}", "", " ".join(map(str, counts)),
                            "h = histogram(x, 5, 0, 100)", f"x={save(y)}", "--where", "x > 0"]))

(folder / "selections.tsv").write_text("\n".join(lines) + "\n")
