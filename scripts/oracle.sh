#!/usr/bin/env bash
# Makes the stored golden values of the tests anew: oracle.sh [part of a script's name]
# Every tests/oracle/make_*.py runs in an environment of its own, build-oracle/<name>, with the
# packages that its line "# needs: ..." lists.
set -euo pipefail
cd "$(dirname "$0")/.."
for script in tests/oracle/make_*"${1:-}"*.py; do
    name=$(basename "$script" .py)
    folder=build-oracle/$name
    if [ ! -x "$folder/bin/python" ]; then
        "${PYTHON:-python3}" -m venv "$folder"
    fi
    read -ra needs < <(sed -n 's/^# needs: //p' "$script")
    "$folder/bin/python" -m pip install --quiet --disable-pip-version-check "${needs[@]}"
    "$folder/bin/python" "$script"
done
