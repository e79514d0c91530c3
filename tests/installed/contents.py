"""Compare a source distribution and a wheel with the tree: contents.py mica.tar.gz mica.whl."""

import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("mica", "mlcompute")

# What a wheel has beside the packages' files: one each, where a pattern says so.
BUILT = [
    r"mica/_mica\.[\w-]+\.so",
    r"mlcompute/_mlcompute\.[\w-]+\.so",
    r"mica/libmica\.(so|dylib)",
    r"mica/bin/mica",
    r"mica/pkgconfig/mica\.pc",
]
DIST_INFO = r"mica-[0-9.]+\.dist-info/(METADATA|WHEEL|RECORD|entry_points\.txt|licenses/\w+)"


def tracked() -> set[str]:
    """The project's files, as git lists them, those included that are about to be added."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return {name for name in names.splitlines() if (ROOT / name).is_file()}


def missing_of_source(files: set[str], archive: str) -> list[str]:
    """What a source distribution lacks: all but data, which only examples read, and CI's door."""
    with tarfile.open(archive) as tar:
        members = {member.name.partition("/")[2] for member in tar if member.isfile()}
    wanted = {name for name in files if not name.startswith(("data/", ".ci/"))}
    problems = [f"the source distribution lacks {name}" for name in sorted(wanted - members)]
    extra = members - wanted - {"PKG-INFO"}
    return problems + [f"the source distribution has {name}" for name in sorted(extra)]


def differences_of_wheel(files: set[str], archive: str) -> list[str]:
    """What a wheel lacks and what it should not have."""
    with zipfile.ZipFile(archive) as wheel:
        members = set(wheel.namelist())
    roots = tuple(f"python/{package}/" for package in PACKAGES)
    wanted = {name.removeprefix("python/") for name in files if name.startswith(roots)}
    wanted |= {f"mica/{name}" for name in files if name.startswith("include/")}
    problems = [f"the wheel lacks {name}" for name in sorted(wanted - members)]
    rest = members - wanted
    for pattern in BUILT:
        found = {name for name in rest if re.fullmatch(pattern, name)}
        if len(found) != 1:
            problems.append(f"the wheel has {sorted(found)} where one file is {pattern}")
        rest -= found
    rest = {name for name in rest if not re.fullmatch(DIST_INFO, name)}
    return problems + [f"the wheel has {name}" for name in sorted(rest)]


def main() -> int:
    source, wheel = sys.argv[1:]
    files = tracked()
    problems = missing_of_source(files, source) + differences_of_wheel(files, wheel)
    print("\n".join(problems) or f"the source distribution and the wheel are whole: {wheel}")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
