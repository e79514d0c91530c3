"""Lets TensorFlow write checkpoints of trainings under way: tests/python/files/data/interop.

python tests/oracle/make_tensorflow_interop.py
"""

# needs: tensorflow-cpu==2.21.0
import shutil
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
FOLDER = TESTS / "python" / "files" / "data" / "interop"


def main() -> None:
    """Write them anew."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    program = TESTS / "interop" / "program.py"
    subprocess.run([sys.executable, program, "write", FOLDER, "training"], check=True)


if __name__ == "__main__":
    main()
