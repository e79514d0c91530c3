"""A process that answers calls: a JSON object per line of standard input, an answer per line.

python worker.py mica.tf | tensorflow
"""

import importlib
import json
import os
import sys
import warnings
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
sys.path.insert(0, str(Path(__file__).resolve().parent))


def main() -> None:
    # Functions under test print: their words go to standard error, answers to the first output.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    import logging

    logging.disable(logging.CRITICAL)
    tf = importlib.import_module(sys.argv[1])
    import execute

    for line in sys.stdin:
        print(json.dumps(execute.answer(tf, json.loads(line))), file=answers, flush=True)


main()
