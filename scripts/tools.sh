#!/usr/bin/env bash
# Installs those tools of the tests that are missing from Debian's packages, where this user may: as
# root, with apt-get. What cannot be installed is left to the phases that miss it to name.
set -euo pipefail

packages=()
wants() { command -v "$1" >/dev/null 2>&1 || packages+=("$2"); } # program, its package
wants clang clang
wants clang-format-14 clang-format-14
wants valgrind valgrind
wants pkg-config pkg-config
command -v qemu-aarch64 >/dev/null 2>&1 || wants qemu-aarch64-static qemu-user-static

# libFuzzer and the sanitizers of clang, for make fuzz: a package of their own, by clang's version.
probe='int LLVMFuzzerTestOneInput(const unsigned char *b, unsigned long n) { return b && !n; }'
if ! echo "$probe" | clang -fsanitize=fuzzer -x c - -o /dev/null 2>/dev/null; then
    version=$(clang -dumpversion 2>/dev/null || echo 14)
    packages+=("libclang-rt-${version%%.*}-dev")
fi

if [ ${#packages[@]} -eq 0 ]; then exit 0; fi
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "tools: ${packages[*]} are missing, and only root can install them, with apt-get"
    exit 0
fi
echo "tools: installing ${packages[*]}"
export DEBIAN_FRONTEND=noninteractive
options=(-qq -o Acquire::Retries=1 -o Acquire::http::Timeout=20 -o DPkg::Lock::Timeout=60)
timeout 180 apt-get "${options[@]}" update >/dev/null 2>&1 ||
    echo "tools: apt-get update failed; trying what it knows"
for package in "${packages[@]}"; do # one by one: another may exist where one does not
    timeout 600 apt-get "${options[@]}" install -y --no-install-recommends "$package" \
        >/dev/null 2>&1 || echo "tools: $package could not be installed"
done
