#!/usr/bin/env bash
# Gives every reader of files (tests/fuzz/read_*.c) bytes of libFuzzer's, FUZZ_SECONDS each (60), from
# its corpus on; built with AddressSanitizer and UBSan into build-readers. Arguments choose readers:
# fuzz_readers.sh graph_text bundle. What it finds is kept in build-readers/found; an input that was
# mended goes to tests/fuzz/corpus.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="$PWD/.venv/bin:$PATH"
folder=build-readers
command -v clang >/dev/null || { echo "fuzz: clang was not found (scripts/tools.sh)"; exit 1; }
mkdir -p $folder/found
probe='int LLVMFuzzerTestOneInput(const unsigned char *b, unsigned long n) { return b && !n; }'
echo "$probe" | clang -fsanitize=fuzzer -x c - -o $folder/probe 2>/dev/null ||
    { echo "fuzz: clang has no libFuzzer here (scripts/tools.sh)"; exit 1; }
cmake -S . -B $folder -G Ninja -DCMAKE_C_COMPILER=clang -DMICA_SANITIZE=address,undefined \
    -DMICA_FUZZ=ON -DMICA_CLI=OFF -DMICA_EXAMPLES=OFF -DMICA_ISA_ONLY=baseline \
    > $folder/configure.log 2>&1 || { cat $folder/configure.log; exit 1; }
cmake --build $folder --parallel "${JOBS:-2}" --target readers > $folder/build.log 2>&1 ||
    { tail -40 $folder/build.log; exit 1; }
if [ $# -eq 0 ]; then
    for source in tests/fuzz/read_*.c; do name=${source##*/read_}; set -- "$@" "${name%.c}"; done
fi
failed=()
for name in "$@"; do
    echo "==== $name"
    mkdir -p $folder/corpus/"$name"
    ASAN_OPTIONS=allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 \
        $folder/fuzz_read_"$name" -max_total_time="${FUZZ_SECONDS:-60}" -timeout=20 \
        -rss_limit_mb=2048 -malloc_limit_mb=1024 -max_len=65536 -print_final_stats=1 \
        -artifact_prefix=$folder/found/"$name"- $folder/corpus/"$name" \
        tests/fuzz/corpus/read_"$name" tests/ir/data > $folder/"$name".log 2>&1 || failed+=("$name")
    tail -20 $folder/"$name".log | grep -E 'stat::(number|peak)|ERROR|SUMMARY|does not hold|Done' || true
done
if [ ${#failed[@]} -gt 0 ]; then
    echo "fuzz: ${failed[*]} failed; see $folder/<reader>.log and $folder/found"
    exit 1
fi
