"""What the tests about the source tree share."""

import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("MICA_BUILD", ROOT / "build"))


def sources(*patterns: str) -> list[Path]:
    """Files of the project that match, those that git ignores left out where git can tell."""
    found = sorted(path for pattern in patterns for path in ROOT.glob(pattern) if path.is_file())
    folders = {".venv", ".bench", ".git", "dist"}
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
