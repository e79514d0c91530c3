"""Makes members of mlcompute do nothing, and looks whether a test notices.

    python scripts/mlcompute_noops.py [--count N | --all] [--seed S]

Members are drawn at random from those of docs/mlcompute.md. One that is taken away answers nothing
(a function), is ignored (a field of a descriptor), or is another (a value of an enumeration). The
tests that call it run; the test that the table names first. See scripts/mlcompute_recorder.py.
"""

import argparse
import json
import os
import random
import sys
import tempfile
from pathlib import Path

import mlcompute_table as table

ROOT = Path(__file__).resolve().parents[1]


def run(keys: dict[str, str | None]) -> dict[str, str | None]:
    """The test that fails without each of the keys; None when all pass."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "noops.json"
        path.write_text(json.dumps(keys), encoding="utf-8")
        table.run_tests({"MLCOMPUTE_NOOPS": str(path)})
        return json.loads(path.read_text(encoding="utf-8"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--seed", type=int)
    options = parser.parse_args()
    tests = json.loads(table.TESTS.read_text(encoding="utf-8"))
    keys = sorted({row.key for row in table.rows(tests) if row.key})
    if not options.all:
        seed = options.seed if options.seed is not None else random.randrange(10**6)
        print(f"seed {seed}")
        keys = random.Random(seed).sample(keys, options.count)
    found = run({key: tests.get(key) for key in keys})
    missed = [key for key in keys if not found.get(key)]
    for key in keys:
        print(f"{'missed' if key in missed else 'noticed':8} {key}  {found.get(key) or ''}")
    print(f"{len(keys) - len(missed)} of {len(keys)} were noticed")
    if options.all:
        noticed = {key: test for key, test in sorted(found.items()) if test}
        table.TESTS.write_text(json.dumps(noticed, indent=1) + "\n", encoding="utf-8")
    return bool(missed)


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main())
