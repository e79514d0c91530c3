"""MICA_CHECK=1 names the kernel that is wrong."""

import os
import shutil
import subprocess
import sys

import pytest

PROGRAM = """
import mica
function = mica.jit(lambda x: (mica.tanh(x) * x).sum(axis=1), compile_now=True)
print(function(mica.full((3, 5), 0.75)).tolist())
"""

WRONG_COMPILER = r"""#!/bin/sh
for a in "$@"; do
    case $a in */unit.c) sed -i 's/= mica_tanh_f32(a)/= mica_sin_f32(a)/' "$a" ;; esac
done
exec cc "$@"
"""


def run(**environment):
    return subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "MICA_CACHE": "off", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_right_kernels_pass():
    plain, checked = run(), run(MICA_CHECK="1")
    assert checked.returncode == 0
    assert checked.stdout == plain.stdout
    assert checked.stderr == ""


@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
def test_a_wrong_kernel_is_an_error_that_names_it(tmp_path):
    compiler = tmp_path / "compiler"
    compiler.write_text(WRONG_COMPILER)
    compiler.chmod(0o700)
    assert run(MICA_CC=str(compiler)).returncode == 0
    wrong = run(MICA_CC=str(compiler), MICA_CHECK="1")
    assert wrong.returncode != 0
    last = wrong.stderr.strip().splitlines()[-1]
    assert "tanh" in last
    assert "the reference gives" in last
