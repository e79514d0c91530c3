"""Speed beside numpy: ``mica bench ops``, or ``python -m mica.bench ops``.

Each row of the table of primitives is timed on 1M elements, and numpy's (or scipy's) way to do the
same beside it: in the same process, on as many threads, in turns. A time is that of the fastest
call of a round, the median over the rounds, and the ratio the median of the rounds' ratios, so that
what else the machine does counts little; a round is long enough to find its operands in the caches
again. Results lie in memory that has been written before on both sides: Mica's come from its pool,
numpy's are given with ``out`` where its function takes that, and are made anew by its own allocator
where not.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import mica

from ._bench_reasons import REASONS, Reason

BOUND = 1.2  # slower than numpy by more than this needs a reason
UNSURE = BOUND / 1.25  # from here on a ratio may lie on either side of the bound
ROUND_SECONDS = 0.02  # a round repeats a call for so long
ROUNDS = 7
MORE_ROUNDS = 200  # for what is unsure, on a machine that others use too
MOST_SECONDS = 3.0  # for one entry
MORE_TIMES = 3  # what is unsure is measured again, a while later
PAUSE_SECONDS = 1.0
MOST_SETTLING_SECONDS = 0.5


def _best(call: Callable[[], Any], repeat: int) -> float:
    """Seconds of the fastest call."""
    best = float("inf")
    for _ in range(repeat):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def _repeats(call: Callable[[], Any]) -> int:
    call()
    seconds = _best(call, 2)
    return max(1, int(ROUND_SECONDS / max(seconds, 1e-9)))


def _waited(call: Callable[[], Any]) -> Callable[[], Any]:
    """The call, until its result is there."""

    def run() -> None:
        result = call()
        if isinstance(result, tuple):
            result = result[0]
        result.wait()

    return run


def _lingers() -> bool:
    """Whether some thread of this process computes, though nothing was asked of it.

    The threads of OpenBLAS look for more work for a tenth of a second after a product, and would
    take a core from the next side.
    """
    before = time.process_time()
    time.sleep(0.02)
    return time.process_time() - before > 0.004


def _settle() -> None:
    end = time.perf_counter() + MOST_SETTLING_SECONDS
    while _lingers() and time.perf_counter() < end:
        pass


class Measured:
    """The fastest calls of each round, of both sides in turns.

    What counts is the median over the rounds, of times and of ratios: the two sides of a round are
    neighbours in time, so that both meet the same machine.
    """

    def __init__(self, ours: Callable[[], Any], theirs: Callable[[], Any] | None) -> None:
        self._sides = [_waited(ours)] if theirs is None else [_waited(ours), theirs]
        self._repeats = [_repeats(side) for side in self._sides]
        self._settles = _lingers()
        self._rounds: list[list[float]] = []

    def run(self) -> None:
        """Some rounds, and more of them as long as it is unsure whether ours is too slow."""
        start = time.perf_counter()
        done = 0
        while True:
            self._rounds.append([self._one(i) for i in range(len(self._sides))])
            done += 1
            if done >= (MORE_ROUNDS if self.is_unsure() else ROUNDS):
                break
            if done >= 2 and time.perf_counter() - start > MOST_SECONDS:
                break

    def _one(self, i: int) -> float:
        if self._settles:
            _settle()
        return _best(self._sides[i], self._repeats[i])

    def seconds(self, side: int) -> float | None:
        """Of ours (0) or theirs (1), which may be missing."""
        if side >= len(self._sides):
            return None
        return statistics.median(r[side] for r in self._rounds)

    def ratio(self) -> float | None:
        """Our time to theirs."""
        if len(self._sides) == 1:
            return None
        return statistics.median(ours / theirs for ours, theirs in self._rounds)

    def is_unsure(self) -> bool:
        """Whether another look may change the verdict that it is slow, or that it is not."""
        ratio = self.ratio()
        return ratio is not None and ratio > UNSURE

    def is_slow(self) -> bool:
        """Whether ours is slower by more than the bound."""
        ratio = self.ratio()
        return ratio is not None and ratio > BOUND


def measure(ours: Callable[[], Any], theirs: Callable[[], Any] | None) -> Measured:
    """Both sides, and as long as the verdict is unsure some times more, with pauses.

    What else the machine does comes and goes in seconds; a kernel that is slow stays slow. What
    seems just fast enough is measured again as well as what seems too slow, with or without a
    reason, and all the rounds count.
    """
    measured = Measured(ours, theirs)
    measured.run()
    for _ in range(MORE_TIMES):
        if not measured.is_unsure():
            break
        time.sleep(PAUSE_SECONDS)
        measured.run()
    return measured


# ---- reasons -------------------------------------------------------------------------------------


def reasons_table() -> str:
    """The reasons as a table in Markdown, as docs/performance.md has it."""
    lines = ["| op | what | dtype | reason |", "|---|---|---|---|"]
    lines += [f"| `{op}` | {what} | {dtypes} | {why} |" for op, what, dtypes, why in REASONS]
    return "\n".join(lines)


def find_reason(reasons: list[Reason], op: str, what: str, dtype: str) -> str | None:
    """The reason for one entry, or None."""

    def covers(pattern: str, text: str) -> bool:
        wanted = re.escape(pattern).replace(r"\*", ".*")
        return re.fullmatch(wanted, text) is not None

    for row_op, row_what, row_dtypes, reason in reasons:
        dtypes = row_dtypes.split()
        if row_op == op and covers(row_what, what) and ("*" in dtypes or dtype in dtypes):
            return reason
    return None


# ---- the table -----------------------------------------------------------------------------------


def run_ops(parts: list[str]) -> Iterator[dict]:
    """Time every row, or those whose names contain one of `parts`; a dict for each entry."""
    from mica import _bench_ops

    for row in mica.ops():
        name = row["name"]
        if parts and not any(part in name for part in parts):
            continue
        reason = _bench_ops.untimed_reason(row)
        if reason:
            yield {"op": name, "untimed": reason}
            continue
        if not _bench_ops.has_entry(row):
            hint = f"{name} has no entry: add one to python/mica/_bench_ops.py"
            yield {"op": name, "missing": hint}
            continue
        for entry in _bench_ops.entries(row):
            known = find_reason(REASONS, name, entry.what, entry.dtype)
            measured = measure(entry.ours, entry.theirs)
            mine, slow = measured.seconds(0), measured.is_slow()
            yield {
                "op": name,
                "what": entry.what,
                "dtype": entry.dtype,
                "mica_seconds": mine,
                "numpy_seconds": measured.seconds(1),
                "ratio": measured.ratio(),
                "gigabytes_per_second": entry.bytes / mine * 1e-9,
                "gigaflops": entry.flops / mine * 1e-9 if entry.flops else None,
                "peer": entry.peer,
                "slow": slow,
                "reason": known if slow else None,
            }


def describe() -> dict:
    """What runs, on what."""
    import numpy

    versions = {"mica": mica.__version__, "numpy": numpy.__version__}
    try:
        import scipy

        versions["scipy"] = scipy.__version__
    except ImportError:
        versions["scipy"] = "not installed"
    device = mica.device(None)
    return {
        "device": f"{device.name}: {device.description}",
        "threads": mica.threads(),
        "versions": versions,
    }


def _print_line(line: dict) -> None:
    if "untimed" in line:
        print(f"{line['op']:<22} not timed: {line['untimed']}")
    elif "missing" in line:
        print(f"{line['op']:<22} !! {line['missing']}")
    else:
        name = f"{line['op']} {line['what']}".strip()
        theirs = f"{line['numpy_seconds'] * 1e6:>10.1f}" if line["numpy_seconds"] else f"{'-':>10}"
        ratio = f"{line['ratio']:>7.2f}" if line["ratio"] else f"{'-':>7}"
        mark = ""
        if line["slow"]:
            mark = "  (see docs/performance.md)" if line["reason"] else "  !! slower, no reason"
        flops = f" {line['gigaflops']:.0f} GFLOP/s" if line["gigaflops"] else ""
        print(
            f"{name:<34} {line['dtype']:<5} {line['mica_seconds'] * 1e6:>10.1f} {theirs} {ratio}"
            f" {line['gigabytes_per_second']:>7.1f}  {line['peer']}{flops}{mark}"
        )
    sys.stdout.flush()


def bench_ops(arguments: argparse.Namespace) -> int:
    """Print the table; 1 when --check finds something."""
    # BLAS reads its number of threads when numpy is first imported.
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(arguments.threads)
    mica.set_threads(arguments.threads)
    facts = describe()
    if not arguments.json:
        versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
        print(f"{facts['device']}\n{versions}; {facts['threads']} threads, 1M elements")
        print(f"{'op':<34} {'dtype':<5} {'mica us':>10} {'numpy us':>10} {'ratio':>7} {'GB/s':>7}")
    lines = []
    for line in run_ops(arguments.parts):
        lines.append(line)
        if not arguments.json:
            _print_line(line)
    if not lines:
        print(f"mica: no op has {' or '.join(arguments.parts)} in its name", file=sys.stderr)
        return 2
    missing = [line for line in lines if "missing" in line]
    unexplained = [line for line in lines if line.get("slow") and not line["reason"]]
    if arguments.json:
        print(json.dumps({**facts, "bound": BOUND, "rows": lines}, indent=1))
    else:
        timed = [line for line in lines if line.get("ratio")]
        slow = sum(line["slow"] for line in timed)
        print(
            f"{len(timed)} beside a peer, {slow} slower by more than {BOUND}, "
            f"{len(unexplained)} of them without a reason; "
            f"{len(missing)} rows without an entry"
        )
    return 1 if arguments.check and (missing or unexplained) else 0


def main(argv: list[str] | None = None) -> int:
    """Run a benchmark."""
    parser = argparse.ArgumentParser(prog="mica bench", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    ops = commands.add_parser("ops", help="each primitive beside numpy, on 1M elements")
    ops.add_argument("parts", nargs="*", metavar="part", help="of the names of rows; default: all")
    ops.add_argument("--json", action="store_true", help="print everything as JSON")
    ops.add_argument(
        "--check",
        action="store_true",
        help=f"exit with 1 when something is slower than numpy by more than {BOUND} without a "
        "reason in mica/_bench_reasons.py, or a row has no entry",
    )
    ops.add_argument("--threads", type=int, default=2, help="on both sides (default: 2)")
    try:
        return bench_ops(parser.parse_args(argv))
    except BrokenPipeError:  # whoever reads the table has stopped; what is left goes nowhere
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except ModuleNotFoundError as error:
        print(f"mica: bench needs {error.name}, which {sys.executable} has not", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
