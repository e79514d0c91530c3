#!/usr/bin/env bash
# Trains MNIST's net in C and again in Python, and compares the loss curves: run.sh [arguments of
# examples/mnist.c]. Without Python's headers or numpy only the program in C runs.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/build.sh mnist
build/examples/mnist "$@" --losses build/mnist_c.txt

if grep -q '^MICA_PYTHON:.*=OFF' build/CMakeCache.txt; then
    echo "skipped in Python: Python.h was not found (python3-dev)"
    exit 0
fi
.venv/bin/python -c 'import numpy' 2>/dev/null ||
    .venv/bin/python -m pip install --quiet --disable-pip-version-check numpy ||
    { echo "skipped in Python: numpy is not installed"; exit 0; }
scripts/build.sh mlcompute_extension
arguments=()
while [ $# -gt 0 ]; do # the plot is the first program's alone
    if [ "$1" = --plot ]; then shift 2; else arguments+=("$1"); shift; fi
done
echo
.venv/bin/python examples/mnist_mlcompute.py "${arguments[@]}" --losses build/mnist_python.txt
if ! cmp -s build/mnist_c.txt build/mnist_python.txt; then
    echo "the loss curves in C and in Python differ: build/mnist_c.txt, build/mnist_python.txt" >&2
    exit 1
fi
echo "the loss curves in C and in Python are the same, bit for bit: $(wc -l < build/mnist_c.txt) steps"
