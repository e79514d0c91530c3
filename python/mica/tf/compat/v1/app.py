"""`tf.compat.v1.app`: runs a program's main function with its flags parsed."""

from __future__ import annotations

import sys as _sys

from ..._missing import finder as _finder
from . import flags

__all__ = ["flags", "run"]


def run(main=None, argv=None) -> None:
    """Parse the flags, call main with what is left, and exit with what it returns."""
    given = list(_sys.argv if argv is None else argv)
    main = main or _sys.modules["__main__"].main
    _sys.exit(main(flags.FLAGS(given, known_only=True)))


__getattr__ = _finder(__name__)
