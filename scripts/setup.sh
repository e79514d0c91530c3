#!/usr/bin/env bash
# Makes .venv: a Python, and CMake and ninja from PyPI where the system has none.
# With --test it also installs what the tests need, with --docs what makes the site of docs/. Does
# nothing that is already done.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '%s\n' "$*" >&2; }

# Python 3.10 or newer that can make virtual environments.
usable() {
    command -v "$1" >/dev/null 2>&1 &&
        "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))' >/dev/null 2>&1
}

has_headers() {
    "$1" -c 'import os, sys, sysconfig
sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))'
}

# $PYTHON, else python3, else any newer one that is there; one with headers is preferred,
# because the extension needs them.
choose_python() {
    local candidate fallback=""
    if [ -n "${PYTHON:-}" ]; then
        usable "$PYTHON" || { say "setup: PYTHON=$PYTHON is not a Python >= 3.10 with venv"; exit 1; }
        echo "$PYTHON"
        return
    fi
    for candidate in python3 python3.14 python3.13 python3.12 python3.11 python3.10; do
        usable "$candidate" || continue
        if has_headers "$candidate"; then echo "$candidate"; return; fi
        [ -n "$fallback" ] || fallback=$candidate
    done
    if [ -z "$fallback" ]; then
        say "setup: Python >= 3.10 with its venv module is needed, and was not found."
        say "       python3 is: $(python3 --version 2>&1 || true)"
        say "       On Debian or Ubuntu: apt install python3 python3-venv python3-dev"
        exit 1
    fi
    echo "$fallback"
}

if ! command -v "${CC:-cc}" >/dev/null 2>&1; then
    say "setup: a C compiler is needed: ${CC:-cc} was not found (set CC to name another)"
    exit 1
fi

if ! usable .venv/bin/python; then
    python=$(choose_python)
    say "setup: making .venv with $("$python" --version)"
    rm -rf .venv
    "$python" -m venv .venv
fi

install() { .venv/bin/python -m pip install --quiet --disable-pip-version-check "$@"; }

# The first of two version numbers is at least the second.
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

PATH="$PWD/.venv/bin:$PATH"
if ! at_least "$(cmake --version 2>/dev/null | sed -n 's/^cmake version //p')" 3.20; then
    say "setup: installing cmake into .venv"
    install "cmake>=3.20"
fi
if ! command -v ninja >/dev/null 2>&1; then
    say "setup: installing ninja into .venv"
    install ninja
fi

# `import mica` and the command mica come from the build folder.
echo "$PWD/build/python" > "$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/mica-build.pth"
ln -sfn "$PWD/build/bin/mica" .venv/bin/mica

# The tools of an extra of pyproject.toml, again when that file has changed.
install_tools_of() {
    if cmp -s pyproject.toml ".venv/$1-tools-of"; then return; fi
    say "setup: installing the tools for $1 into .venv"
    # shellcheck disable=SC2046
    install $(.venv/bin/python scripts/extra.py "$1")
    cp pyproject.toml ".venv/$1-tools-of"
}

case ${1:-} in
--test) install_tools_of test ;;
--docs) install_tools_of docs ;;
esac
