"""What tests share: the source tree, commands, numbers of threads."""

import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
BUILD = Path(os.environ.get("MICA_BUILD", ROOT / "build"))


def sources(*patterns: str) -> list[Path]:
    """Files of the project that match, those that git ignores left out where git can tell."""
    found = sorted(path for pattern in patterns for path in ROOT.glob(pattern) if path.is_file())
    folders = {".venv", ".bench", ".conformance", ".git", "dist"}
    return [
        path
        for path in found
        if not any(
            part in folders or part.startswith("build") for part in path.relative_to(ROOT).parts
        )
    ]


def compiler() -> list[str] | None:
    """The C compiler's command, or None when there is none."""
    command = os.environ.get("CC", "cc").split()
    return command if shutil.which(command[0]) else None


def run(*command: object, **options: object) -> subprocess.CompletedProcess[str]:
    """Run a command and keep what it says."""
    return subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=300, **options
    )


def by_threads(call) -> list:
    """What a call returns on 1, 2 and 5 threads."""
    import mica

    before = mica.threads()
    results = []
    try:
        for n in (1, 2, 5):
            mica.set_threads(n)
            assert mica.threads() == n
            results.append(call())
    finally:
        mica.set_threads(before)
    return results
