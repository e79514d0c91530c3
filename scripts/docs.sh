#!/usr/bin/env bash
# Makes the site of docs/ in build/site. A warning, such as a link that leads nowhere, is an error, and
# so is a word that is known to be a slip.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh --docs
.venv/bin/python -m codespell_lib --ignore-words-list ane docs/*.md docs/mica.1 ./*.md
export NO_MKDOCS_2_WARNING=1 # of the theme, about another program's future
.venv/bin/python -m mkdocs build --quiet --strict
if grep -lE '(src|href)="https?:[^"]*' build/site/*.html; then
    echo "docs: these pages need what is not part of the site" >&2
    exit 1
fi
echo "build/site/index.html; its search works where it is served: python3 -m http.server -d build/site"
