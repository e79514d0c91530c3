#!/usr/bin/env bash
# Exchanges files with TensorFlow and TensorBoard in both directions (tests/interop/exchange.py), in
# an environment of its own, build-oracle/interop. With --picture it also takes that of TensorBoard's
# page in docs/, with a headless Chromium.
# needs: tensorflow-cpu==2.21.0 tensorboard
set -euo pipefail
cd "$(dirname "$0")/.."
folder=build-oracle/interop
python=$folder/bin/python
if [ ! -x "$python" ]; then "${PYTHON:-python3}" -m venv "$folder"; fi
read -ra needs < <(sed -n 's/^# needs: //p' scripts/interop.sh)
"$python" -m pip install --quiet --disable-pip-version-check "${needs[@]}"
files=$(mktemp -d)
trap 'rm -rf "$files"' EXIT
.venv/bin/python tests/interop/exchange.py "$python" "$files"
[ "${1:-}" = --picture ] || exit 0

browser=
for name in chromium chromium-browser google-chrome; do
    if command -v "$name" > /dev/null; then browser=$name && break; fi
done
if [ -z "$browser" ]; then echo "interop: no Chromium was found" >&2 && exit 1; fi
.venv/bin/python -m mica.tf tests/interop/shown.py "$files/shown"
port=$("$python" -c 'import socket; s = socket.socket(); s.bind(("", 0)); print(s.getsockname()[1])')
"$python" -m tensorboard.main --logdir "$files/shown" --port "$port" --load_fast=false \
    2> "$files/log" &
board=$!
trap 'kill "$board"; rm -rf "$files"' EXIT
for _ in $(seq 60); do
    if grep -q "at http" "$files/log"; then break; fi
    sleep 1
done
"$browser" --headless=new --no-sandbox --disable-gpu --hide-scrollbars --no-first-run \
    --user-data-dir="$files/profile" --window-size=1440,1000 --virtual-time-budget=60000 \
    --screenshot="$files/shot.png" "http://localhost:$port/?darkMode=false#timeseries" \
    > "$files/browser.log" 2>&1 || { cat "$files/browser.log" >&2; exit 1; }
.venv/bin/python - "$files/shot.png" docs/tensorboard.png << 'END'
import sys

from PIL import Image

Image.open(sys.argv[1]).convert("RGB").quantize(256, dither=0).save(sys.argv[2], optimize=True)
END
