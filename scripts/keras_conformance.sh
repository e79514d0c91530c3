#!/usr/bin/env bash
# Keras' own tests over mica.tf: keras_conformance.sh [arguments of tests/keras/conformance.py].
# Its environment, .conformance, is .venv and what these tests use beside it (the extra
# `conformance` of pyproject.toml).
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh --test
python=.conformance/bin/python
if ! cmp -s pyproject.toml .conformance/tools-of; then
    echo "conformance: installing what Keras' tests use into .conformance" >&2
    rm -rf .conformance
    .venv/bin/python -m venv .conformance
    # shellcheck disable=SC2046
    $python -m pip install --quiet --disable-pip-version-check \
        $(.venv/bin/python scripts/extra.py conformance)
    packages() { "$1" -c 'import sysconfig; print(sysconfig.get_path("purelib"))'; }
    { packages .venv/bin/python; echo "$PWD/build/python"; } > "$(packages $python)/mica.pth"
    cp pyproject.toml .conformance/tools-of
fi
exec $python tests/keras/conformance.py "$@"
