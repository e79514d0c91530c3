#!/usr/bin/env bash
# Takes pictures, into docs/ (or the folder given), with a headless Chromium: of the pages that `mica
# view` writes (a net, its graph, a convolutional net in the dark, a small GPT), and of three pages of
# the site that `make docs` builds.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-docs}
browser=
for name in chromium chromium-browser google-chrome; do
    if command -v "$name" > /dev/null; then browser=$name && break; fi
done
if [ -z "$browser" ]; then
    echo "skipped: screenshots: no Chromium was found" | tee -a "${MICA_SKIPPED:-/dev/null}"
    exit 0
fi
pages=$(mktemp -d)
trap 'rm -rf "$pages"' EXIT

page() { # name of a program in tests/python/command/view
    build/bin/mica view --output "$pages/$1.html" "tests/python/command/view/$1.py" 2> /dev/null
}

shoot() { # page.html#place or a path, picture, width, height, further options
    local from=$pages/$1 to=$2 size=$3,$4
    case $1 in /*) from=$1 ;; esac
    shift 4
    "$browser" --headless=new --no-sandbox --disable-gpu --hide-scrollbars --no-first-run \
        --user-data-dir="$pages/profile" --window-size="$size" --virtual-time-budget=2000 "$@" \
        --screenshot="$pages/shot.png" "file://$from" > "$pages/log" 2>&1 ||
        { cat "$pages/log" >&2; exit 1; }
    .venv/bin/python - "$pages/shot.png" "$folder/$to" << 'END'
import sys

from PIL import Image

Image.open(sys.argv[1]).convert("RGB").quantize(256, dither=0).save(sys.argv[2], optimize=True)
END
    echo "$folder/$to: $(stat -c %s "$folder/$to") bytes"
}

export MICA_PYTHON=$PWD/.venv/bin/python
page mlp
shoot mlp.html view-mlp.png 1440 1500
shoot "mlp.html?only#fuse-0" view-graph.png 1500 860
page convnet
shoot convnet.html view-convnet.png 1440 1500 --blink-settings=preferredColorScheme=0
page gpt
shoot gpt.html view-gpt.png 1440 1500

scripts/docs.sh > /dev/null
shoot "$PWD/build/site/index.html" site-begin.png 1280 1100
shoot "$PWD/build/site/architecture.html" site-architecture.png 1280 1500
shoot "$PWD/build/site/room_src_ir.html" site-room.png 1280 1100
