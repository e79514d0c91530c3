#!/usr/bin/env bash
# Makes the site of docs/ in build/site. A warning, such as a link that leads nowhere, is an error.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh --docs
export NO_MKDOCS_2_WARNING=1 # of the theme, about another program's future
.venv/bin/python -m mkdocs build --quiet --strict
echo "build/site/index.html"
