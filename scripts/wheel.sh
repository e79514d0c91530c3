#!/usr/bin/env bash
# The package as a user installs it: makes the source distribution and, from that, the wheel;
# compares both with the tree; installs the wheel into a new virtual environment outside the tree
# and runs tests/installed and a part of tests/python there. wheel.sh [part of a test's name]
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(cd "$(mktemp -d)" && pwd -P) # macOS's temporary folder is behind a link
trap 'rm -rf "$folder"' EXIT
export CMAKE_BUILD_PARALLEL_LEVEL=${JOBS:-2}

.venv/bin/python -m build --outdir "$folder/dist" . > "$folder/build.log" 2>&1 ||
    { tail -n 60 "$folder/build.log"; exit 1; }
wheel=$(echo "$folder"/dist/*.whl)
.venv/bin/python tests/installed/contents.py "$folder"/dist/*.tar.gz "$wheel"

.venv/bin/python -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check \
    "${wheel}[keras]" pytest hypothesis scipy

# From here on nothing of the tree can be imported: the tests lie in a folder of their own.
mkdir -p "$folder/tests/docs"
cp tests/installed/test_*.py tests/python/support/*.py README.md "$folder/tests"
cp docs/*.md "$folder/tests/docs"
for name in functions jit derivatives nn exchange mlcompute_graphs tf_core tf_data tf_keras \
    tf_control hardening; do
    cp tests/python/*/"test_$name.py" "$folder/tests"
done
export MICA_TREE=$PWD
unset PYTHONPATH
cd "$folder/tests"
"$folder/venv/bin/python" -m pytest -q -ra -p no:cacheprovider --rootdir . ${1:+-k "$1"}
