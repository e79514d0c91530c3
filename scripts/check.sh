#!/usr/bin/env bash
# The tests, by phase: check.sh all | [gcc] [clang] [address] [fuzz] [failures] [thread]
# [valgrind] [cross] [format] [docs] [python] [wheel] [keras] [soak]. Phases whose tool is absent say so and pass; the
# last lines of the run name them once more. scripts/tools.sh installs such tools.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=${JOBS:-2}
timings=()

skip() { echo "skipped: $*" | tee -a "$MICA_SKIPPED"; }

MICA_SKIPPED=$(mktemp) # what this run left out; the scripts that it calls write here, too
export MICA_SKIPPED
name_what_was_skipped() {
    local code=$?
    if [ -s "$MICA_SKIPPED" ]; then
        echo "==== not everything ran"
        cat "$MICA_SKIPPED"
    fi
    rm -f "$MICA_SKIPPED"
    exit $code
}
trap name_what_was_skipped EXIT

configure() { # folder, arguments
    local folder=$1
    shift
    mkdir -p "$folder"
    cmake -S . -B "$folder" -G Ninja "$@" > "$folder/configure.log" 2>&1 ||
        { cat "$folder/configure.log"; exit 1; }
}

run_ctest() { # folder, arguments
    ctest --test-dir "$1" --output-on-failure --parallel "$jobs" --timeout 1200 "${@:2}"
}

phase_build() {
    scripts/build.sh all
}

phase_gcc() {
    run_ctest build
}

phase_clang() {
    command -v clang >/dev/null || { skip "clang was not found"; return; }
    configure build-clang -DCMAKE_C_COMPILER=clang
    cmake --build build-clang --parallel "$jobs"
    MICA_TEST_QUICK=1 run_ctest build-clang
}

sanitized() { # folder, sanitizers, further arguments
    configure "$1" -DMICA_SANITIZE="$2" -DMICA_CLI=OFF -DMICA_EXAMPLES=OFF "${@:3}"
    cmake --build "$1" --parallel "$jobs" --target tests
    MICA_TEST_QUICK=1 run_ctest "$1"
}

phase_address() {
    ASAN_OPTIONS=allocator_may_return_null=1:detect_stack_use_after_return=1 \
        UBSAN_OPTIONS=print_stacktrace=1 sanitized build-address address,undefined \
        -DMICA_PYTHON=ON -DPython_EXECUTABLE="$PWD/.venv/bin/python"
}

phase_fuzz() { # every row of the op table with random operands; shares the build of `address`
    scripts/fuzz_ops.sh --seed 1 --count "${FUZZ_CALLS:-2000}" --keep-going
}

# Cases in which one allocation after another fails; shares the build of `address` too.
phase_failures() {
    local runtime
    runtime=$("${CC:-cc}" -print-file-name=libasan.so)
    # shellcheck disable=SC2086
    PYTHONPATH="$PWD/build-address/python" .venv/bin/python tests/tf/allocations.py \
        --preload "$(realpath "$runtime")" ${FAILURES:---most 8 --modes eager,plain py_function}
}

phase_thread() {
    TSAN_OPTIONS=allocator_may_return_null=1:halt_on_error=1 sanitized build-thread thread
}

phase_valgrind() {
    command -v valgrind >/dev/null || { skip "valgrind was not found"; return; }
    scripts/valgrind.sh build
}

phase_cross() {
    scripts/cross.sh
}

phase_format() {
    .venv/bin/ruff check .
    scripts/format.sh --check
}

phase_docs() {
    scripts/docs.sh
}

phase_python() {
    .venv/bin/python -m pytest
}

phase_keras() { # a slice of Keras' own tests
    .venv/bin/python tests/keras/conformance.py --slice --workers "$jobs"
}

phase_wheel() {
    scripts/wheel.sh
}

phase_soak() {
    MICA_TEST_SOAK=1 run_ctest build
    MICA_TEST_SOAK=1 .venv/bin/python -m pytest
    FUZZ_CALLS=1000000 run_phase fuzz
    FAILURES="--most 20" run_phase failures
    .venv/bin/python bench/mnist_seeds.py
    .venv/bin/python -m mica.tf tests/keras/applications.py
    for part in '' _f32 _binary; do MICA_EXHAUSTIVE=1 build/ir_test_scalar$part; done
}

run_phase() {
    local start=$SECONDS
    echo "==== $1"
    "phase_$1"
    timings+=("$1 $((SECONDS - start)) s")
}

phases=("$@")
if [ "$*" = all ]; then
    phases=(format docs gcc clang address fuzz failures thread valgrind cross wheel keras python)
fi
scripts/setup.sh --test
PATH="$PWD/.venv/bin:$PATH"
run_phase build
for phase in "${phases[@]}"; do
    if [ "$phase" = python ]; then (IFS=,; echo "==== so far: ${timings[*]}"); fi
    run_phase "$phase"
done
