#!/usr/bin/env bash
# Prints the names that libmica exports, sorted: exports.sh [build-folder]
# The builders of primitives are left out: the table include/mica/ops.def is their list.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-build}
if [ -f "$folder/libmica.so" ]; then
    nm -D --defined-only "$folder/libmica.so" | awk '{ print $3 }'
else
    nm -gU "$folder/libmica.dylib" | awk '{ sub(/^_/, "", $3); print $3 }'
fi | grep -vxF "$(sed -n 's/^MICA_OP(\([a-z0-9_]*\),.*/mica_\1/p' include/mica/ops.def)" |
    LC_ALL=C sort
