#!/usr/bin/env bash
# Everything that is shown on a GPU, in one go: scripts/gpu.sh [COMMIT] > docs/gpu.log
# Builds, runs the op harness and 500 random graphs with gradients on `cuda` against `ref`, looks for
# bad accesses with compute-sanitizer where it runs, checks attention against f64, and measures, the
# training of bench/gpu.py too. COMMIT names what is tested where there is no git. Ends with a line
# that says whether all of it passed. SKIP="PART ..." leaves
# parts out, DTYPES=f32,i32 dtypes of the op harness.
set -uo pipefail
cd "$(dirname "$0")/.."
commit=${1:-$(git describe --always --dirty 2> /dev/null)}
build=${BUILD:-build-gpu}
failed=""

part() { # NAME COMMAND...: its last lines, and how long it took
    local name=$1 start=$SECONDS
    shift
    case " ${SKIP:-} " in *" $name "*) echo "## $name: left out"; return ;; esac
    echo "## $name: $*"
    if ! timeout "${LIMIT:-240}" "$@" > "$build/part.log" 2>&1; then failed="$failed $name"; fi
    tail -n "${LINES_SHOWN:-8}" "$build/part.log"
    echo "   ($((SECONDS - start)) s)"
}

echo "# Mica on a GPU, commit ${commit:-unknown}"
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2> /dev/null
mkdir -p "$build"
cmake -S . -B "$build" -G Ninja -DMICA_CLI=OFF -DMICA_EXAMPLES=OFF -DMICA_PYTHON=ON -DMICA_PYTHON_EXECUTABLE="$(command -v python3)" -DMICA_WARNINGS_ARE_ERRORS=OFF > "$build/configure.log" 2>&1 \
    || { tail -5 "$build/configure.log"; exit 1; }
LINES_SHOWN=2 part build cmake --build "$build" --target all harness device_test_random_graphs device_test_cuda_source bench_device
export MICA_CACHE=off
export PYTHONPATH="$PWD/$build/python" PYTHONUNBUFFERED=1
part templates "$build/device_test_cuda_source"
MICA_TEST_QUICK=1 part values "$build/harness" --devices=cuda ${DTYPES:+--dtypes=$DTYPES} values
MICA_CUBLAS=off part own-dot "$build/harness" --devices=cuda --ops=dot values
MICA_TEST_QUICK=1 part derivatives "$build/harness" --devices=cuda ${DTYPES:+--dtypes=$DTYPES} derivatives
MICA_TEST_DEVICE=cuda MICA_TEST_GRAPHS=500 part random-graphs "$build/device_test_random_graphs"
if command -v compute-sanitizer > /dev/null; then
    MICA_TEST_QUICK=1 part memcheck compute-sanitizer --report-api-errors no --error-exitcode 9 "$build/harness" --devices=cuda \
        --dtypes=f32 --ops=add,reduce,dot,conv,gather,scatter,transpose,pad,reduce_window,select_and_scatter,sort values
fi
LINES_SHOWN=30 part bench "$build/bench_device" cuda 0.4
MICA_TF32=1 LINES_SHOWN=4 part bench-tf32 "$build/bench_device" cuda 0.4
MICA_TIER=compiled LINES_SHOWN=30 part training python3 bench/gpu.py
MICA_TIER=compiled MICA_TF32=1 LINES_SHOWN=30 part training-tf32 python3 bench/gpu.py
LINES_SHOWN=70 part attention python3 bench/gpu_attention.py
if [ -z "$failed" ]; then echo "# all parts passed"; else echo "# FAILED:$failed"; exit 1; fi
