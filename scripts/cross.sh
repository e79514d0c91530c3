#!/usr/bin/env bash
# Builds the library for other systems with PyPI's ziglang, and runs the C tests of arm64 Linux
# under qemu-user where that is present. cross.sh [target...]
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=${JOBS:-2}

configure() { # folder, zig's target, CMake's system, its processor, further arguments
    mkdir -p "$1"
    local tool
    for tool in cc ar ranlib; do
        printf '#!/bin/sh\nexec "%s" -m ziglang %s "$@"\n' "$PWD/.venv/bin/python" \
            "$tool$([ $tool = cc ] && echo " -target $2")" > "$1/zig-$tool"
        chmod +x "$1/zig-$tool"
    done
    cmake -S . -B "$1" -G Ninja -DCMAKE_SYSTEM_NAME="$3" -DCMAKE_SYSTEM_PROCESSOR="$4" \
        -DCMAKE_C_COMPILER="$PWD/$1/zig-cc" -DCMAKE_AR="$PWD/$1/zig-ar" \
        -DCMAKE_RANLIB="$PWD/$1/zig-ranlib" "${@:5}" > "$1/configure.log" 2>&1 ||
        { cat "$1/configure.log"; exit 1; }
}

# The step that mica export writes trains on arm64 with the bits that Python prints here.
train_on_arm64() { # qemu, the folder of zig-cc
    .venv/bin/python -m mica._export_main examples/mnist_step.py:step -o "$2/mnist_step.c" \
        > /dev/null
    "$2/zig-cc" -static -std=c11 -O3 -ffp-contract=off -fno-math-errno -fno-trapping-math \
        "$2/mnist_step.c" examples/train_exported.c -o "$2/train" -lm
    .venv/bin/python examples/mnist_step.py --steps 3 --file "$2/steps.bin" > "$2/expected.txt"
    "$1" "$2/train" "$2/steps.bin" | diff "$2/expected.txt" -
}

# The library is built for glibc. Its tests run as static programs (musl), which need no arm64
# system around them.
build_aarch64_linux() {
    configure build-cross-aarch64-linux aarch64-linux-gnu.2.28 Linux aarch64 -DMICA_TESTS=OFF
    cmake --build build-cross-aarch64-linux --parallel "$jobs"
    local qemu
    qemu=$(command -v qemu-aarch64 || command -v qemu-aarch64-static || true)
    if [ -z "$qemu" ]; then
        echo "skipped: the tests on arm64: neither qemu-aarch64 nor qemu-aarch64-static was found" |
            tee -a "${MICA_SKIPPED:-/dev/null}"
        return
    fi
    configure build-cross-aarch64-run aarch64-linux-musl Linux aarch64 -DMICA_CLI=OFF \
        -DMICA_EXAMPLES=OFF -DCMAKE_EXE_LINKER_FLAGS=-static -DCMAKE_CROSSCOMPILING_EMULATOR="$qemu"
    cmake --build build-cross-aarch64-run --parallel "$jobs" --target tests
    MICA_TEST_QUICK=1 ctest --test-dir build-cross-aarch64-run --output-on-failure \
        --parallel "$jobs" --timeout 1200
    train_on_arm64 "$qemu" build-cross-aarch64-run
}

build_aarch64_macos() {
    configure build-cross-aarch64-macos aarch64-macos-none Darwin arm64 -DMICA_TESTS=OFF
    cmake --build build-cross-aarch64-macos --parallel "$jobs"
}

build_x86_64_macos() {
    configure build-cross-x86_64-macos x86_64-macos-none Darwin x86_64 -DMICA_TESTS=OFF
    cmake --build build-cross-x86_64-macos --parallel "$jobs"
}

if [ $# -eq 0 ]; then set -- aarch64_linux aarch64_macos x86_64_macos; fi
for target; do
    echo "cross $target"
    "build_$target"
done
