#!/usr/bin/env bash
# Fuzzes the ops of mica.tf (tests/fuzz/ops.py, whose arguments these are) with library and extension
# built with AddressSanitizer and UndefinedBehaviorSanitizer, into the folder of the tests that are
# built so.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="$PWD/.venv/bin:$PATH"
folder=build-address
mkdir -p $folder
cmake -S . -B $folder -G Ninja -DMICA_SANITIZE=address,undefined -DMICA_CLI=OFF \
    -DMICA_EXAMPLES=OFF -DMICA_PYTHON=ON -DPython_EXECUTABLE="$PWD/.venv/bin/python" \
    > $folder/configure.log 2>&1 || { cat $folder/configure.log; exit 1; }
cmake --build $folder --parallel "${JOBS:-2}" --target mica mica_extension mlcompute_extension \
    > $folder/build.log 2>&1 || { tail -40 $folder/build.log; exit 1; }
runtime=$("${CC:-cc}" -print-file-name=libasan.so)
PYTHONPATH="$PWD/$folder/python" .venv/bin/python tests/fuzz/ops.py \
    --preload "$(realpath "$runtime")" "$@"
