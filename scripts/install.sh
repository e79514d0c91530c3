#!/usr/bin/env bash
# Installs Mica into a virtual environment of its own.
#
#   scripts/install.sh [--prompt] [DIR]
#
# Checks the system, makes a virtual environment in DIR (mica_venv by default) and installs Mica
# into it. With --prompt it shows what it is about to do and asks first.
set -euo pipefail
source_folder=$(cd "$(dirname "$0")/.." && pwd)

usage() { sed -n '2,7s/^# \{0,1\}//p' "$0"; }
fail() { printf 'ERROR: %s\n' "$*" >&2; exit 1; }

prompt=no
folder=""
for argument; do
    case $argument in
    --prompt) prompt=yes ;;
    -h | --help) usage; exit 0 ;;
    -*) usage >&2; fail "unknown option $argument" ;;
    *) [ -z "$folder" ] || fail "more than one folder was given: $folder and $argument"
       folder=$argument ;;
    esac
done
folder=${folder:-mica_venv}
case $folder in /*) ;; *) folder=$PWD/$folder ;; esac

# ---- the system ----------------------------------------------------------------------------------

system=$(uname -s) machine=$(uname -m)
case $system in
Linux | Darwin) ;;
*) fail "Mica is for Linux and macOS; this is $system" ;;
esac
case $machine in
x86_64 | aarch64 | arm64) ;;
*) fail "Mica is for x86-64 and arm64 processors; this is $machine" ;;
esac

python=${PYTHON:-python3}
command -v "$python" >/dev/null || fail "Python >= 3.10 is needed; $python was not found"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
    fail "Python >= 3.10 is needed; $python is $("$python" --version 2>&1) (set PYTHON to name another)"
"$python" -c 'import venv, ensurepip' 2>/dev/null ||
    fail "Python's venv module is needed (on Debian or Ubuntu: apt install python3-venv)"
"$python" -c 'import os, sys, sysconfig
sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' ||
    fail "Python's headers are needed (on Debian or Ubuntu: apt install python3-dev)"
command -v "${CC:-cc}" >/dev/null ||
    fail "a C compiler is needed; ${CC:-cc} was not found (set CC to name another)"

if [ -e "$folder" ] && [ ! -f "$folder/pyvenv.cfg" ]; then
    fail "$folder exists and is not a virtual environment"
fi

# ---- asking --------------------------------------------------------------------------------------

version=$(sed -n 's/^project(mica VERSION \([0-9.]*\).*/\1/p' "$source_folder/CMakeLists.txt")
echo "Mica $version will be installed:"
echo "  system:               $system on $machine"
echo "  Python:               $("$python" --version 2>&1) ($(command -v "$python"))"
echo "  C compiler:           $(command -v "${CC:-cc}")"
if [ -e "$folder" ]; then
    echo "  virtual environment:  $folder (exists; what is in it stays, Mica is replaced)"
else
    echo "  virtual environment:  $folder (new)"
fi
if [ "$prompt" = yes ]; then
    printf 'Continue? [y/N] '
    read -r answer || answer=""
    case $answer in
    y | Y | yes | Yes) ;;
    *) echo "Nothing was changed."; exit 1 ;;
    esac
fi

# ---- installing ----------------------------------------------------------------------------------

made_new=no
if [ ! -e "$folder" ]; then
    made_new=yes
    trap '[ $made_new = no ] || rm -rf "$folder"' EXIT
    "$python" -m venv "$folder"
fi
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check "$source_folder"
"$folder/bin/mica" doctor
made_new=no

echo
echo "Mica $version is installed. To use it:"
echo "  . \"$folder/bin/activate\""
