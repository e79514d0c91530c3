"""``python -m mica.tf script.py [args]``: runs a TensorFlow script on Mica."""

from __future__ import annotations

import os
import runpy
import sys

from ._install import install


def main() -> int:
    """Run the script named by the first argument as __main__, with the rest as its arguments."""
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print("usage: python -m mica.tf (script.py | -m module) [arguments]", file=sys.stderr)
        return 0 if len(sys.argv) > 1 else 2
    install()
    if sys.argv[1] == "-m":
        if len(sys.argv) < 3:
            print("mica.tf: -m needs the name of a module", file=sys.stderr)
            return 2
        sys.argv[:] = sys.argv[2:]
        sys.path[0] = os.getcwd()
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        return 0
    sys.argv[:] = sys.argv[1:]
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    runpy.run_path(sys.argv[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main())
