#!/usr/bin/env bash
# Formats the C files, or with --check says which are not formatted. The tables (*.def) are laid
# out by hand. Versions of clang-format differ in details, so only the one named here decides.
set -euo pipefail
cd "$(dirname "$0")/.."
version=14
program=clang-format
command -v clang-format-$version >/dev/null && program=clang-format-$version
if ! "$program" --version 2>/dev/null | grep -q "version $version\."; then
    echo "skipped: clang-format $version was not found" | tee -a "${MICA_SKIPPED:-/dev/null}"
    exit 0
fi
mapfile -t files < <(git ls-files --cached --others --exclude-standard '*.c' '*.h')
if [ "${1:-}" = --check ]; then
    "$program" --dry-run --Werror "${files[@]}"
else
    "$program" -i "${files[@]}"
fi
