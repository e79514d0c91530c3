"""Writes docs/tensorflow.md and tests/tf/passing.txt from what mica.tf gives for the corpus.

    python scripts/tensorflow_page.py [--record]      with --record both files are written

A case that has passed stays in tests/tf/passing.txt; one that passes no longer is an error.
"""

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "tf"))

import corpus
import results

ROOT = Path(__file__).resolve().parents[1]
NO_SUCH_NAME = "works", "TensorFlow has no such name either"
NO_VMAP = "missing: tf.vectorized_map"
PAGE = ROOT / "docs" / "tensorflow.md"
INTRODUCTION = """# TensorFlow's names

You want to know whether a name of TensorFlow's works on Mica. A name that is missing is an error
that says so; `docs/tensorflow_scripts.md` says what to do then.

Made by `scripts/tensorflow_page.py`; a test compares. The first table has the {count} names that
TensorFlow's own guides and tutorials use, by how often they do; the second what Keras 3 asks of
its TensorFlow backend beside those.

- **works**: every case of `tests/tf` about the name gives what TensorFlow {version} gives: dtype
  and shape exactly, values to 1e-5 or closer unless the case says otherwise; eagerly, in a
  `tf.function` with known and with unknown dimensions, with gradients (second order where the
  case asks), forward mode{vmap}. Names that it has dropped, estimators and the
  layers of TensorFlow 1 among them, give what TensorFlow {dropped} gives.
- **differs**: the name is there; some case does not give that, the first is named.
- **there**: the name is there, no case compares it.
- **missing**: the name is not there.
- **Keras**: a name of the package keras, which `tf.keras` is; it is there as it is with TensorFlow
  {version}. Keras's own tests run on Mica: `make keras-conformance`.

The last column names an area of its own: data, files, strings, ragged and sparse tensors, v1,
distribution, lite.

`python tests/tf/results.py [part of a case's name]` shows what is wrong with cases. Of the {count}
names {summary}.
"""


class Status:
    """Where each symbol stands."""

    def __init__(self, found: dict[str, dict[str, str | None]]) -> None:
        import mica.tf

        self.tf = mica.tf
        self.found = found
        self.head, _ = corpus.read_golden()
        legacy = ROOT / "tests/keras/legacy_optimizers.json"  # what tf_keras gives, by optimizer
        self.legacy = set(json.loads(legacy.read_text(encoding="utf-8")))
        self.about: dict[str, list[str]] = {}
        for name, case in corpus.load().items():
            for symbol in case.of:
                self.about.setdefault(symbol, []).append(name)

    def value(self, symbol: str) -> object:
        return corpus.value(self.tf, symbol)

    def cases(self, symbol: str) -> list[str]:
        """The cases about a symbol, under another name of the same object too."""
        names = list(self.about.get(symbol, ()))
        for other in self.head["aliases"].get(symbol, ()):
            same = not corpus.missing(self.tf, other) and self.value(other) is self.value(symbol)
            names += self.about.get(other, ()) if same else ()
        return names

    def of_keras(self, symbol: str) -> tuple[str, str]:
        """Whether the package keras has a name that TensorFlow has with it."""
        if not corpus.missing(self.tf, symbol):
            name = symbol.removeprefix("tf.keras.optimizers.legacy.")
            if self.cases(symbol):
                return self.of(symbol)
            return ("works" if name in self.legacy else "Keras"), ""
        return ("missing", "") if symbol in self.head["keras"] else NO_SUCH_NAME

    def of(self, symbol: str) -> tuple[str, str]:
        """works, differs, there or missing; and how it differs."""
        if corpus.missing(self.tf, symbol):
            return "missing", ""
        cases = self.cases(symbol)
        if not cases:
            return "there", ""
        bad = [
            (name, mode, wrong)
            for name in cases
            for mode, wrong in self.found[name].items()
            if wrong and not (mode == "vmap" and wrong == NO_VMAP)
        ]
        if not bad:
            return "works", ""
        name, mode, wrong = bad[0]
        return "differs", f"{name}, {mode}: {wrong}".replace("|", "/").replace("\n", " ")


def page(found: dict[str, dict[str, str | None]]) -> str:
    """The text of docs/tensorflow.md."""
    status = Status(found)
    symbols = json.loads((ROOT / "tests/tf/symbols.json").read_text(encoding="utf-8"))
    counts = {"works": 0, "differs": 0, "there": 0, "missing": 0, "Keras": 0}
    rows = ["| rank | name | uses | | |", "|---|---|---|---|---|"]
    for rank, symbol, uses, area in symbols["used"]:
        state, how = status.of_keras(symbol) if area == "Keras" else status.of(symbol)
        if area == "no such name":
            state, how = NO_SUCH_NAME
        counts[state] += 1
        note = how or ("" if area == "Keras" else area)
        rows.append(f"| {rank} | `{symbol}` | {uses} | {state} | {note} |")
    more = ["| name | | |", "|---|---|---|"]
    ranked = {symbol for _, symbol, _, _ in symbols["used"]}
    for symbol, area in symbols["keras"]:
        if symbol not in ranked:
            state, how = status.of(symbol)
            more.append(f"| `{symbol}` | {state} | {how or area} |")
    words = {
        "works": "work",
        "differs": "differ",
        "there": "are there",
        "missing": "are missing",
        "Keras": "are Keras's",
    }
    summary = ", ".join(f"{n} {words[state]}" for state, n in counts.items())
    text = INTRODUCTION.format(
        count=len(symbols["used"]),
        version=status.head["tensorflow"],
        dropped=status.head["dropped"],
        summary=summary,
        vmap="" if corpus.missing(status.tf, "tf.vectorized_map") else ", `tf.vectorized_map`",
    )
    return "\n".join([text, "## By use", "", *rows, "", "## For Keras", "", *more, ""])


def passing(found: dict[str, dict[str, str | None]]) -> dict[str, set[str]]:
    return {n: {m for m, wrong in modes.items() if not wrong} for n, modes in found.items()}


def lost(found: dict[str, dict[str, str | None]]) -> list[str]:
    """Cases that are known to pass and do not."""
    out = []
    for name, modes in corpus.read_passing().items():
        for mode in sorted(modes):
            wrong = found.get(name, {}).get(mode, "there is no such case")
            if wrong:
                out.append(f"{name} {mode}: {wrong}")
    return out


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--record", action="store_true", help="write the page and passing.txt")
    options = parser.parse_args()
    found = results.run()
    wrong = lost(found)
    for line in wrong:
        print(f"passes no longer: {line}", file=sys.stderr)
    if options.record:
        if wrong:
            return 1
        corpus.write_passing(passing(found))
        PAGE.write_text(page(found), encoding="utf-8")
    else:
        sys.stdout.write(page(found))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
