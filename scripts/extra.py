"""Print the requirements of an extra of pyproject.toml, one per line: extra.py test."""

import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    from pip._vendor import tomli as tomllib


def main() -> None:
    """Read the project file beside this folder and print what the extra asks for."""
    text = (Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8")
    extras = tomllib.loads(text)["project"]["optional-dependencies"]
    print("\n".join(extras[sys.argv[1]]))


if __name__ == "__main__":
    main()
