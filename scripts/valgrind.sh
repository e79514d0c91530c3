#!/usr/bin/env bash
# Runs a few C tests of a build folder under valgrind: valgrind.sh [build-folder]
# Nothing may be lost, or touched wrongly, once mica_shutdown has run.
set -euo pipefail
folder=${1:-build}
export MICA_TEST_QUICK=1
for test in base_test_pool base_test_text; do
    echo "valgrind $test"
    valgrind --quiet --leak-check=full --show-leak-kinds=definite,indirect,possible \
        --errors-for-leak-kinds=definite,indirect,possible --error-exitcode=9 \
        --fair-sched=yes "$folder/$test"
done
