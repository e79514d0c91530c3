#!/usr/bin/env bash
# Sets up and builds the given targets (all when none is given) into build/.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh
PATH="$PWD/.venv/bin:$PATH"

python_on=$(.venv/bin/python -c 'import os, sysconfig
header = os.path.join(sysconfig.get_path("include"), "Python.h")
print("ON" if os.path.exists(header) else "OFF")')
if [ "$python_on" = OFF ]; then
    echo "build: Python.h was not found (python3-dev): building without the Python package" >&2
fi

cmake -S . -B build -G Ninja -DMICA_PYTHON="$python_on" \
    -DPython_EXECUTABLE="$PWD/.venv/bin/python" > build.log 2>&1 || { cat build.log; exit 1; }
mv build.log build/configure.log
if [ $# -eq 0 ]; then set -- all; fi
cmake --build build --parallel "${JOBS:-2}" --target "$@"
