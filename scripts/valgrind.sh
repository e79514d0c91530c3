#!/usr/bin/env bash
# Runs a few C tests of a build folder under valgrind: valgrind.sh [build-folder]
# Nothing may be lost, or touched wrongly, once mica_shutdown has run.
set -euo pipefail
folder=${1:-build}
export MICA_TEST_QUICK=1
cd "$(dirname "$0")/.."
for test in "$folder"/base_test_* "$folder"/runtime_test_* "$folder"/*_test_mnist_*; do
    [ -x "$test" ] || continue
    # Its threads wait for each other in turns, which takes minutes where one runs at a time.
    [ "$(basename "$test")" = runtime_test_stream_order ] && continue
    echo "valgrind $(basename "$test")"
    valgrind --quiet --leak-check=full --show-leak-kinds=definite,indirect,possible \
        --errors-for-leak-kinds=definite,indirect,possible --error-exitcode=9 \
        --fair-sched=yes "$test"
done
