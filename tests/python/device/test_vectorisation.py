"""A plain loop over a scalar function of src/ir/scalar.h becomes vector instructions."""

import platform
import re
import shutil

import pytest
from house import ROOT, run

UNARY = (
    "exp expm1 log log1p sqrt rsqrt cbrt sin cos tan asin acos atan sinh cosh tanh asinh acosh "
    "atanh erf erfc erfinv lgamma digamma logistic floor ceil round abs neg sign"
).split()
BINARY = "add sub mul div rem pow max min atan2 igamma".split()
# In f64, the rest goes through libm, at least for some arguments.
F64 = (
    "exp expm1 log log1p sqrt rsqrt cbrt asin acos atan sinh cosh tanh asinh acosh atanh digamma "
    "logistic sin_bounded cos_bounded tan_bounded abs neg sign"
).split()
F64_BINARY = "add sub mul div pow max min atan2 igamma".split()
FLAGS = ("-std=gnu11 -O3 -ffp-contract=off -fno-math-errno -fno-trapping-math").split()
MACHINES = {
    "avx2": "-mavx2 -mfma".split(),
    "avx512": (
        "-mavx512f -mavx512dq -mavx512bw -mavx512vl -mfma -mprefer-vector-width=512"
    ).split(),
}


def loops(kind: str, suffix: str, unary: list[str], binary: list[str]) -> str:
    text = ""
    for name in unary:
        text += (
            f"void loop_{name}_{suffix}(const {kind} *restrict a, {kind} *restrict y, long n) {{"
            f" for (long i = 0; i < n; i++) y[i] = mica_{name}_{suffix}(a[i]); }}\n"
        )
    for name in binary:
        text += (
            f"void loop_{name}_{suffix}(const {kind} *restrict a, const {kind} *restrict b,"
            f" {kind} *restrict y, long n) {{"
            f" for (long i = 0; i < n; i++) y[i] = mica_{name}_{suffix}(a[i], b[i]); }}\n"
        )
    return text


@pytest.mark.skipif(
    platform.machine() != "x86_64" or platform.system() != "Linux",
    reason="the assembly is read for x86-64 Linux only",
)
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_loops_over_scalar_functions_are_vectorised(compiler, machine, tmp_path):
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} was not found")
    source = tmp_path / "loops.c"
    text = '#include "ir/scalar.h"\n' + loops("float", "f32", UNARY, BINARY)
    source.write_text(text + loops("double", "f64", F64, F64_BINARY), encoding="utf-8")
    done = run(compiler, *FLAGS, *MACHINES[machine], "-I", ROOT / "src", "-S", source, "-o", "-")
    assert done.returncode == 0, done.stderr
    bodies = re.split(r"^loop_(\w+):.*$", done.stdout, flags=re.MULTILINE)[1:]
    register = "%zmm" if machine == "avx512" else "%ymm"
    found = dict(zip(bodies[::2], bodies[1::2], strict=True))
    wanted = {f"{name}_f32" for name in UNARY + BINARY}
    assert set(found) == wanted | {f"{name}_f64" for name in F64 + F64_BINARY}
    assert not [name for name, body in found.items() if register not in body]
    assert not [name for name, body in found.items() if re.search(r"\bcall", body)]
