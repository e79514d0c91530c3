#!/usr/bin/env bash
# Prints the names that libmica exports, sorted: exports.sh [build-folder]
set -euo pipefail
folder=${1:-build}
if [ -f "$folder/libmica.so" ]; then
    nm -D --defined-only "$folder/libmica.so" | awk '{ print $3 }'
else
    nm -gU "$folder/libmica.dylib" | awk '{ sub(/^_/, "", $3); print $3 }'
fi | LC_ALL=C sort
