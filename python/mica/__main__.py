"""Run the program ``mica`` that was built with this package: ``python -m mica devices``."""

import os
import sys
from pathlib import Path


def main() -> None:
    """Replace this process by the program, with the same arguments."""
    package = Path(__file__).parent
    places = [package / "bin" / "mica", package.parent.parent / "bin" / "mica"]
    for program in places:
        if program.is_file():
            os.execv(program, ["mica", *sys.argv[1:]])
    sys.exit("mica: the program was not found; looked at " + ", ".join(map(str, places)))


if __name__ == "__main__":
    main()
