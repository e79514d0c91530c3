"""When two answers agree. docs/reliability.md tells the rules in words."""

from __future__ import annotations

import math

# Relative to the array's largest element, by dtype: what a different order of additions and other
# polynomials of the same accuracy cost.
TOLERANCE = {
    "float16": 6e-3, "bfloat16": 4e-2, "float32": 1e-5, "complex64": 2e-5,
    "float64": 1e-9, "complex128": 1e-9,
}  # fmt: skip
# Functions whose answer comes of long sums, iterations or an ill-conditioned formula.
LOOSE = {
    "linalg": 20, "signal": 20, "image": 10, "special": 50,
}  # fmt: skip
SPECIAL = {
    "lgamma", "digamma", "polygamma", "zeta", "igamma", "igammac", "betainc", "lbeta", "erfinv",
    "erfcinv", "ndtri", "pow", "reduce_std", "reduce_variance", "cumulative_logsumexp",
}  # fmt: skip

# Functions of pictures that compute in float32 whatever dtype they are given: what they answer in
# float64 has float32's accuracy.
SINGLE = {
    "image.adjust_contrast", "image.adjust_gamma", "image.adjust_hue", "image.adjust_saturation",
    "image.stateless_random_contrast", "image.stateless_random_saturation", "image.psnr",
    "image.ssim", "image.ssim_multiscale", "image.per_image_standardization",
    "image.resize_with_pad", "image.crop_and_resize",
}  # fmt: skip

# In float32 and complex64 TensorFlow's answer differs from its own in float64 by up to a hundredth.
COARSE = {"linalg.expm": 1000}

PYTHON_ERRORS = {
    "ValueError", "TypeError", "IndexError", "OverflowError", "AttributeError", "KeyError",
    "NotImplementedError", "ZeroDivisionError", "AssertionError", "UnboundLocalError",
    "RuntimeError", "LookupError", "UnicodeEncodeError", "UnicodeDecodeError", "FailedToConvert",
}  # fmt: skip


def family(name: str) -> str:
    return name.rsplit(".", 1)[0] if "." in name else "tf"


def looseness(name: str) -> float:
    if name.rsplit(".", 1)[-1] in SPECIAL or "special." in name or "bessel" in name:
        return LOOSE["special"]
    return LOOSE.get(family(name), 1)


def _number(value) -> float:
    return {"n": math.nan, "i": math.inf, "-i": -math.inf}.get(value, value)


def _close(a, b, tolerance: float, scale: float) -> bool:
    a, b = _number(a), _number(b)
    if a != a or b != b:
        return a != a and b != b
    if math.isinf(a) or math.isinf(b):
        return a == b
    return abs(a - b) <= tolerance * max(abs(a), abs(b), min(scale, 1.0))


def _scale(numbers) -> float:
    finite = [abs(_number(x)) for x in numbers if isinstance(x, (int, float))]
    return max(finite, default=0.0)


def _same_contents(dtype: str, wanted, found, loose: float) -> bool:
    tolerance = TOLERANCE.get(dtype.removeprefix("np."))
    if dtype == "py.float":
        tolerance = 1e-9
    if tolerance is None:
        return wanted == found
    tolerance *= loose
    if isinstance(wanted, list):
        scale = max(_scale(wanted), 1e-30)
        return len(wanted) == len(found) and all(
            _close(a, b, tolerance, scale) for a, b in zip(wanted, found, strict=True)
        )
    scale = max(_scale(wanted["e"]), 1e-30)
    if not all(
        _close(a, b, tolerance, scale) for a, b in zip(wanted["e"], found["e"], strict=True)
    ):
        return False
    if wanted["odd"] != found["odd"]:
        return False
    sums = [_number(answer["sum"]) for answer in (wanted, found)]
    waves = [_number(answer["wave"]) for answer in (wanted, found)]
    if not all(map(math.isfinite, sums + waves)):  # the sum alone is too large
        return str(sums + waves[:1]) == str([*sums[::-1], waves[1]])
    slack = tolerance * max(*map(abs, sums), 1e-30)
    return abs(sums[0] - sums[1]) <= slack and abs(waves[0] - waves[1]) <= slack


def _difference(wanted, found, loose: float, single: bool) -> str | None:
    """None where two recorded arrays agree, else the first thing that differs."""
    if wanted is None or found is None:
        return None if wanted is found else "None"
    if wanted[0] != found[0]:
        return "dtype"
    if wanted[1] != found[1]:
        return "shape"
    dtype = "float32" if single and wanted[0] == "float64" else wanted[0]
    return None if _same_contents(dtype, wanted[2], found[2], loose) else "values"


def _weaker(wanted, found) -> bool:
    """Whether a static shape says less than TensorFlow's does, or something else."""
    if wanted == "-" or found == "-":
        return wanted != found
    if wanted is None:
        return False
    if found is None or len(found) != len(wanted):
        return True
    return any(a is not None and a != b for a, b in zip(wanted, found, strict=True))


def error_family(name: str) -> str:
    return "python" if name in PYTHON_ERRORS else "op"


def disagreement(call: dict, wanted: dict, found: dict) -> str | None:
    """None where the answers agree, else in a word what differs."""
    if "x" in found:
        return found["x"]
    if "e" in wanted or "e" in found:
        if "e" not in found:
            return f"does not raise {wanted['e']}"
        if "e" not in wanted:
            return f"raises {found['e']}"
        if error_family(wanted["e"]) != error_family(found["e"]):
            return f"raises {found['e']}, not {wanted['e']}"
        return None
    loose = looseness(call["f"])
    if wanted.get("r") and wanted["r"][0] and wanted["r"][0][0] in ("float32", "complex64"):
        loose = COARSE.get(call["f"], loose)
    for key, what, factor in (("r", "result", 1), ("g", "gradient", 4), ("h", "second", 16)):
        if len(wanted.get(key, ())) != len(found.get(key, ())):
            return f"{what}: number"
        for a, b in zip(wanted.get(key, ()), found.get(key, ()), strict=True):
            different = _difference(a, b, loose * factor, call["f"] in SINGLE)
            if different:
                return f"{what}: {different}"
    for a, b in zip(wanted.get("s", ()), found.get("s", ()), strict=True):
        if _weaker(a, b):
            return "static shape"
    return None


def is_exact(wanted: dict, found: dict) -> bool:
    """Whether error class and static shapes are TensorFlow's own too."""
    return wanted.get("e") == found.get("e") and wanted.get("s") == found.get("s")
