"""Writes cases for the tests of `tidepool eval`: inputs, command lines, and NumPy's results.

    reference.py FOLDER SEED

The folder gets .npy files and cases.tsv, a line each: a title, the greatest distance in units in the
last place (or 'same value', which lets zeros differ in sign), the expected file for each output
('name=file', separated by spaces), and the arguments of `tidepool eval` (tabs between), in which
{out} stands for the folder of outputs. Needs NumPy 1.24 or newer; promotion follows NEP 50.
"""

import os
import pathlib
import sys

os.environ["NPY_PROMOTION_STATE"] = "weak"  # read when NumPy is imported; the default from 2.0 on
import numpy as np  # noqa: E402

folder = pathlib.Path(sys.argv[1])
seed = int(sys.argv[2])
random = np.random.default_rng(seed)
np.seterr(all="ignore")

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float32", "float64"]
COUNT = 1003
EXACT = "0"
SAME_VALUE = "same value"
NEAR = "2"

lines = []
files = 0


def array(dtype, shape=(COUNT,)):
    """Random elements of all magnitudes, with the values that are special in the type."""
    dtype = np.dtype(dtype)
    size = int(np.prod(shape))
    if dtype == np.bool_:
        return random.integers(0, 2, size).astype(bool).reshape(shape)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        values = random.integers(limits.min, limits.max, size, dtype=dtype, endpoint=True)
        small = random.integers(0, 20, size).astype(dtype)
        values = np.where(random.random(size) < 0.5, values, small)
        special = [limits.min, limits.max, 0, 1]
    else:
        magnitude = 30 if dtype == np.float32 else 300
        values = random.normal(size=size) * 10.0 ** random.uniform(-magnitude, magnitude, size)
        values = np.where(random.random(size) < 0.5, values, random.normal(size=size) * 10)
        special = [0.0, -0.0, np.inf, -np.inf, np.nan, np.finfo(dtype).tiny / 4, np.finfo(dtype).max]
    values = values.astype(dtype)
    if size > 100:
        places = random.choice(size, 8 * len(special), replace=False)
        values[places] = np.resize(np.array(special, dtype=dtype), len(places))
    return values.reshape(shape)


def moderate(dtype, low, high):
    return random.uniform(low, high, COUNT).astype(dtype)


def save(values, name=None):
    global files
    files += 1
    name = name or f"{files}.npy"
    # Not np.ascontiguousarray: it makes arrays of no dimension one-dimensional.
    np.save(folder / name, values)
    return str(folder / name)


def case(title, expression, inputs, outputs, distance=EXACT, scalars=(), options=()):
    arguments = [expression]
    arguments += [f"{name}={save(values)}" for name, values in inputs.items()]
    arguments += [f"{name}={value}" for name, value in scalars]
    arguments += [f"{name}={{out}}/{name}.npy" for name in outputs]
    arguments += options
    expected = " ".join(f"{name}={save(values)}" for name, values in outputs.items())
    lines.append("\t".join([title, distance, expected] + arguments))


def widened(function, *values):
    """A function of NumPy; what it would compute in float16 is computed in float32."""
    result = function(*values)
    if result.dtype == np.float16:
        result = function(*(np.asarray(value).astype(np.float32) for value in values))
    return result


def rounded(function, *values):
    """The correctly rounded value of a function, from a wider type."""
    dtype = np.result_type(*values)
    wide = np.float64 if dtype == np.float32 else np.longdouble
    return function(*(value.astype(wide) for value in values)).astype(dtype)


def arithmetic():
    two = {
        "x + y": lambda x, y: x + y,
        "x - y": lambda x, y: x - y,
        "x * y": lambda x, y: x * y,
        "x / y": lambda x, y: x / y,
        "x % y": lambda x, y: x % y,
        "x*y - x + y": lambda x, y: x * y - x + y,
        "x < y": lambda x, y: x < y,
        "x <= y": lambda x, y: x <= y,
        "x > y": lambda x, y: x > y,
        "x >= y": lambda x, y: x >= y,
        "x == y": lambda x, y: x == y,
        "x != y": lambda x, y: x != y,
        "x > y ? x : y": lambda x, y: np.where(x > y, x, y),
        "where(x, y, x - y)": lambda x, y: np.where(x, y, x - y),
    }
    for dtype in INTEGERS + FLOATS:
        for expression, function in two.items():
            x, y = array(dtype), array(dtype)
            title = f"z = {expression} of {dtype}"
            case(title, f"z = {expression}", {"x": x, "y": y}, {"z": function(x, y)})
        x, y = array(dtype), array(dtype)
        for name, function in (("min", np.minimum), ("max", np.maximum)):
            title = f"{name} of {dtype}"
            outputs = {"z": function(x, y)}
            case(title, f"z = {name}(x, y)", {"x": x, "y": y}, outputs, SAME_VALUE)
        case(f"negation of {dtype}", "z = -x", {"x": x}, {"z": -x})
        case(f"abs of {dtype}", "z = abs(x)", {"x": x}, {"z": np.abs(x)})
        case(f"sqrt of {dtype}", "z = sqrt(x)", {"x": x}, {"z": widened(np.sqrt, x)})
    x, y = array("bool"), array("bool")
    for operator in ("+", "*", "/", "==", "!=", "<"):
        outputs = {"z": eval(f"x {operator} y")}
        case(f"x {operator} y of bool", f"z = x {operator} y", {"x": x, "y": y}, outputs)


def promotion():
    for left in ["bool"] + INTEGERS + FLOATS:
        for right in ["bool"] + INTEGERS + FLOATS:
            x, y = array(left, (101,)), array(right, (101,))
            case(f"{left} + {right}", "z = x + y", {"x": x, "y": y}, {"z": x + y})
    for dtype in ["bool"] + INTEGERS + FLOATS:
        x = array(dtype)
        case(f"2*x + 1 of {dtype}", "z = 2*x + 1", {"x": x}, {"z": 2 * x + 1})
        y = array("float32")
        case(f"where({dtype}, same, float32)", "z = where(x, x, y)", {"x": x, "y": y}, {"z": np.where(x, x, y)})
        case(f"0.5 * x of {dtype}", "z = 0.5 * x", {"x": x}, {"z": 0.5 * x})
        case(f"x + a of {dtype}", "z = x + a", {"x": x}, {"z": x + 3}, scalars=[("a", 3)])
        case(f"x * b of {dtype}", "z = x * b", {"x": x}, {"z": x * 2.5}, scalars=[("b", 2.5)])


def functions():
    one = {
        "cbrt": (np.cbrt, -100, 100),
        "exp": (np.exp, -20, 20),
        "exp2": (np.exp2, -20, 20),
        "expm1": (np.expm1, -3, 3),
        "log": (np.log, 1e-3, 1e3),
        "log2": (np.log2, 1e-3, 1e3),
        "log10": (np.log10, 1e-3, 1e3),
        "log1p": (np.log1p, -0.9, 10),
        "sin": (np.sin, -50, 50),
        "cos": (np.cos, -50, 50),
        "tan": (np.tan, -50, 50),
        "asin": (np.arcsin, -1, 1),
        "acos": (np.arccos, -1, 1),
        "atan": (np.arctan, -50, 50),
        "sinh": (np.sinh, -10, 10),
        "cosh": (np.cosh, -10, 10),
        "tanh": (np.tanh, -5, 5),
    }
    two = {
        "atan2": (np.arctan2, -10, 10),
        "pow": (np.power, 0.1, 10),
        "hypot": (np.hypot, -1e3, 1e3),
    }
    for dtype in FLOATS:
        for name, (function, low, high) in one.items():
            x = moderate(dtype, low, high)
            outputs = {"z": rounded(function, x)}
            case(f"{name} of {dtype}", f"z = {name}(x)", {"x": x}, outputs, NEAR)
        for name, (function, low, high) in two.items():
            x, y = moderate(dtype, low, high), moderate(dtype, low, high)
            outputs = {"z": rounded(function, x, y)}
            case(f"{name} of {dtype}", f"z = {name}(x, y)", {"x": x, "y": y}, outputs, NEAR)
        x = array(dtype)
        for name, function in (("floor", np.floor), ("ceil", np.ceil), ("rint", np.rint)):
            case(f"{name} of {dtype}", f"z = {name}(x)", {"x": x}, {"z": function(x)})
    for dtype in ("int16", "int32", "uint16", "uint32"):
        x = random.integers(0, 100, COUNT).astype(dtype)
        result = np.sin(x).dtype
        case(f"sin of {dtype}", "z = sin(x)", {"x": x}, {"z": rounded(np.sin, x.astype(result))}, NEAR)


def layouts():
    for dtype in ["bool"] + INTEGERS + FLOATS:
        x = array(dtype, (17, 5, 3))
        big = np.dtype(dtype).newbyteorder(">")
        one = 1
        case(f"big-endian {dtype}", "z = x + 1", {"x": x.astype(big)}, {"z": x + one})
        case(f"three dimensions of {dtype}", "z = x + 1", {"x": x}, {"z": x + one})
    x, y = array("float32", (31, 37)), array("float32", (31, 37))
    fx, fy = np.asfortranarray(x), np.asfortranarray(y)
    total = x - y
    case("Fortran order", "z = x - y", {"x": fx, "y": fy}, {"z": np.asfortranarray(total)})
    case("Fortran and C order", "z = x - y", {"x": fx, "y": y}, {"z": total})
    case("C and Fortran order", "z = x - y", {"x": x, "y": fy}, {"z": total})
    big = np.asfortranarray(x.astype(">f4"))
    case("big-endian Fortran order", "z = x - y", {"x": big, "y": fy}, {"z": np.asfortranarray(total)})
    value = np.array(2.5, dtype=np.float32)
    case("no dimension", "z = 2*x", {"x": value}, {"z": np.array(5, dtype=np.float32)})
    for shape in ((0,), (0, 3), (3, 0, 2)):
        x = np.zeros(shape, dtype=np.float64)
        case(f"empty {shape}", "z = 2*x", {"x": x}, {"z": x})


def streams():
    x, y = array("float32", (300_007,)), array("float32", (300_007,))
    total = x * y + x
    for chunk in ("4096", "100k", "1m"):
        options = ["--chunk", chunk]
        case(f"chunks of {chunk}", "z = x*y + x", {"x": x, "y": y}, {"z": total}, options=options)
    limit = ["--memory-limit", "2m"]
    case("a low limit", "z = x*y + x", {"x": x, "y": y}, {"z": total}, options=limit)
    x = array("int16", (500, 301))
    y = np.asfortranarray(array("float64", (500, 301)))
    options = ["--chunk", "64k"]
    case("mixed orders in chunks", "z = x * y", {"x": x, "y": y}, {"z": x * y}, options=options)
    outputs = {"s": x * x, "d": x < y, "t": x * x + y}
    title = "several outputs"
    case(title, "s = x*x; d = x < y; t = s + y", {"x": x, "y": y}, outputs, options=options)
    x = moderate("float64", -1000, 1000)
    outputs = {"z": (x * 0.5).astype("float32")}
    case("--dtype float32", "z = x * 0.5", {"x": x}, outputs, options=["--dtype", "float32"])
    x = array("int32")
    for dtype in ("int16", "int64", "float32", "float64"):
        outputs = {"z": (x + 1).astype(dtype)}
        title = f"--dtype {dtype} of int32"
        case(title, "z = x + 1", {"x": x}, outputs, options=["--dtype", dtype])


def both_signs():
    """By value, as NumPy compares them from 1.25 on."""
    for dtype in ("int8", "int64"):
        x, y = array(dtype), array("uint64")
        y[:500] = x[:500].astype("uint64")
        for operator in ("<", "<=", ">", ">=", "==", "!="):
            exact = eval(f"x.astype(object) {operator} y.astype(object)").astype(bool)
            case(f"{dtype} {operator} uint64", f"z = x {operator} y", {"x": x, "y": y}, {"z": exact})
        exact = (y.astype(object) > x.astype(object)).astype(bool)
        case(f"uint64 > {dtype}", "z = y > x", {"x": x, "y": y}, {"z": exact})


arithmetic()
promotion()
functions()
layouts()
streams()
both_signs()
(folder / "cases.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
