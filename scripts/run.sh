#!/usr/bin/env bash
# Trains MNIST's net through Keras on the best device, then in C, and compares their accuracies:
# run.sh [--data DIR] [--epochs N] [--seed N] [--device NAME]. Without Python's headers, or where
# Keras is not installed and cannot be fetched, only the program in C runs.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/build.sh product mnist

arguments=() device=any epochs=""
while [ $# -gt 0 ]; do
    if [ $# -lt 2 ]; then echo "run: $1 needs a value" >&2; exit 2; fi
    case $1 in
    --device) device=$2 ;;
    --epochs) epochs=$2 ;;
    *) arguments+=("$1" "$2") ;;
    esac
    shift 2
done
arguments+=(--epochs "${epochs:-2}")

# Keras and numpy from PyPI, once; fails where neither they nor PyPI are there.
has_keras() {
    .venv/bin/python -c 'import importlib.util as u, sys
sys.exit(not all(map(u.find_spec, ("keras", "numpy"))))'
}
get_keras() {
    has_keras && return
    echo "run: installing keras into .venv" >&2
    # shellcheck disable=SC2046
    .venv/bin/python -m pip install --quiet --disable-pip-version-check \
        $(.venv/bin/python scripts/extra.py keras) && has_keras
}

rm -f build/mnist_keras.accuracy
if grep -q '^MICA_PYTHON:.*=OFF' build/CMakeCache.txt; then
    echo "skipped through Keras: Python.h was not found (python3-dev)"
elif ! get_keras; then
    echo "skipped through Keras: keras is not installed and was not fetched (pip install keras)"
else
    case $device in cuda*) for_keras=gpu ;; *) for_keras=$device ;; esac
    .venv/bin/python -m mica.tf examples/mnist_keras.py "${arguments[@]}" --device "$for_keras" \
        --losses build/mnist_keras.txt --accuracy build/mnist_keras.accuracy
    build/examples/mnist --draw build/mnist_keras.txt --plot mnist_keras_loss.png
    echo
fi

build/examples/mnist "${arguments[@]}" --device "$device" --accuracy build/mnist_c.accuracy
[ -f build/mnist_keras.accuracy ] || exit 0
# Two nets of a kind: a point apart at most, and what chance allows with few test images.
paste build/mnist_keras.accuracy build/mnist_c.accuracy | awk '{
    printf "test accuracy: %.2f %% through Keras, %.2f %% in C\n", 100 * $1, 100 * $2
    apart = $1 > $2 ? $1 - $2 : $2 - $1
    exit apart > 0.01 + 3 * sqrt($2 * (1 - $2) / 1000)
}' || { echo "run: the accuracies differ by more than chance explains" >&2; exit 1; }
