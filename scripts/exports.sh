#!/usr/bin/env bash
# Prints the names that libmica exports, sorted: exports.sh [build-folder]
set -euo pipefail
library=$(ls "${1:-build}"/libmica.so "${1:-build}"/libmica.dylib 2>/dev/null | head -n 1)
case $library in
*.so) nm -D --defined-only "$library" | awk '{ print $3 }' ;;
*) nm -gU "$library" | awk '{ sub(/^_/, "", $3); print $3 }' ;;
esac | LC_ALL=C sort
