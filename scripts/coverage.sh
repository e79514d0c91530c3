#!/usr/bin/env bash
# How much of src/ the tests run: builds build-coverage with counters, runs the C tests, the Python
# tests, calls of the op fuzzer and failures of allocations on it and prints lines and branches by
# room and the files with the most lines that never ran. coverage.sh [c] [python] [failures]
# [report]: only these parts, on the counts that are there.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=build-coverage
jobs=${JOBS:-2}
scripts/setup.sh --test
PATH="$PWD/.venv/bin:$PATH"
command -v gcovr >/dev/null || python -m pip install --quiet --disable-pip-version-check gcovr

# Kernels are counted for one instruction set: the others are the same lines.
build() {
    mkdir -p $folder
    local isa=baseline
    if grep -qs '\bavx2\b' /proc/cpuinfo; then isa=avx2; fi
    cmake -S . -B $folder -G Ninja -DMICA_COVERAGE=ON -DMICA_PYTHON=ON -DMICA_EXAMPLES=OFF \
        -DMICA_ISA_ONLY=$isa \
        -DPython_EXECUTABLE="$PWD/.venv/bin/python" > $folder/configure.log 2>&1 ||
        { cat $folder/configure.log; exit 1; }
    cmake --build $folder --parallel "$jobs"
}

part_c() {
    build
    MICA_TEST_QUICK=${MICA_TEST_QUICK-1} ctest --test-dir $folder --output-on-failure \
        --parallel "$jobs" --timeout 1200
}

# A test that fails for being slower here still counts for what it ran: `make test` judges.
part_python() {
    build
    MICA_TEST_COUNTS=1 MICA_BUILD=$PWD/$folder PYTHONPATH=$PWD/$folder/python python -m pytest -q \
        --deselect tests/python/house/test_house.py \
        --ignore tests/python/install/test_install.py || true
}

# tests/tf/allocations.py: a few allocations of every case, more where the code is the library's own
# loops and readers.
part_failures() {
    build
    export PYTHONPATH=$PWD/$folder/python
    python tests/fuzz/ops.py --seed 1 --count 40000 --keep-going
    python tests/tf/allocations.py --most 5 --modes eager,unknown,grad_static
    python tests/tf/allocations.py --most 3 --modes second,vmap,forward
    for part in data. sparse. ragged. strings. io. saved_model. train. lookup. sets. random. nn.ctc; do
        python tests/tf/allocations.py --most 60 --modes eager $part
    done
}

part_report() {
    gcovr --root . --object-directory $folder --filter src/ -j "$jobs" --json $folder/coverage.json \
        --gcov-ignore-parse-errors=negative_hits.warn \
        --gcov-ignore-parse-errors=suspicious_hits.warn_once_per_file --merge-mode-functions=merge-use-line-min \
        > $folder/gcovr.log 2>&1 || { tail -n 20 $folder/gcovr.log; exit 1; }
    python scripts/coverage.py $folder/coverage.json
}

if [ $# -eq 0 ]; then
    find $folder -name '*.gcda' -delete 2>/dev/null || true
    set -- c python failures report
fi
for part; do "part_$part"; done
