"""Speed beside numpy: ``mica bench ops``, or ``python -m mica.bench ops``.

Each row of the table of primitives is timed on 1M elements, and numpy's (or scipy's) way to do the
same beside it: in the same process, on as many threads, in turns. A time is that of the fastest
call, so that what else the machine does counts as little as possible. Results lie in memory that
has been written before on both sides: Mica's come from its pool, numpy's are given with ``out``
where its function takes that, and are made anew by its own allocator where not.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

BOUND = 1.2  # slower than numpy by more than this needs a reason
ROUND_SECONDS = 0.004  # a round repeats a call for so long
ROUNDS = 7
MORE_ROUNDS = 200  # for what seems too slow, on a machine that others use too
MOST_SECONDS = 3.0  # for one entry
MORE_TIMES = 3  # what is too slow without a reason is measured again, a while later
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


def measure(
    ours: Callable[[], Any], theirs: Callable[[], Any] | None
) -> tuple[float, float | None]:
    """Seconds of the fastest call of each side, over rounds in turns."""
    ours = _waited(ours)
    sides = [ours] if theirs is None else [ours, theirs]
    repeats = [_repeats(side) for side in sides]
    settles = _lingers()
    best = [float("inf")] * len(sides)
    start = time.perf_counter()
    done = 0
    while True:
        for i, side in enumerate(sides):
            if settles:
                _settle()
            best[i] = min(best[i], _best(side, repeats[i]))
        done += 1
        suspicious = len(best) == 2 and best[0] > BOUND * best[1]
        if done >= (MORE_ROUNDS if suspicious else ROUNDS):
            break
        if done >= 2 and time.perf_counter() - start > MOST_SECONDS:
            break
    return best[0], best[1] if len(best) == 2 else None


def measure_again(
    ours: Callable[[], Any], theirs: Callable[[], Any] | None, times: int
) -> tuple[float, float | None]:
    """The same, and as long as ours seems too slow so many times more, with pauses.

    What else the machine does comes and goes in seconds; a kernel that is slow stays slow. Of each
    side the fastest call of all counts.
    """
    mine, best = measure(ours, theirs)
    while times > 0 and best is not None and mine > BOUND * best:
        times -= 1
        time.sleep(PAUSE_SECONDS)
        again, other = measure(ours, theirs)
        mine, best = min(mine, again), min(best, other or best)
    return mine, best


# ---- reasons -------------------------------------------------------------------------------------


def reasons_file() -> Path | None:
    """docs/performance.md: beside the package when installed, else in the source tree."""
    here = Path(__file__).resolve()
    places = [here.parent / "performance.md", here.parents[2] / "docs" / "performance.md"]
    return next((place for place in places if place.is_file()), None)


def read_reasons(text: str) -> list[tuple[str, str, str, str]]:
    """The rows (op, what, dtype, reason) of the tables that have these four columns.

    In `what` and `dtype`, * stands for anything; several dtypes are separated by spaces.
    """
    rows = []
    columns = None
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            columns = None
        elif columns is None:
            columns = cells
        elif columns == ["op", "what", "dtype", "reason"] and not set(line) <= set("|-: "):
            rows.append((cells[0].strip("`"), cells[1], cells[2], cells[3]))
    return rows


def find_reason(
    reasons: list[tuple[str, str, str, str]], op: str, what: str, dtype: str
) -> str | None:
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
    import mica
    from mica import _bench_ops

    path = reasons_file()
    reasons = read_reasons(path.read_text(encoding="utf-8")) if path else []
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
            known = find_reason(reasons, name, entry.what, entry.dtype)
            mine, theirs = measure_again(entry.ours, entry.theirs, 0 if known else MORE_TIMES)
            ratio = mine / theirs if theirs else None
            slow = ratio is not None and ratio > BOUND
            yield {
                "op": name,
                "what": entry.what,
                "dtype": entry.dtype,
                "mica_seconds": mine,
                "numpy_seconds": theirs,
                "ratio": ratio,
                "gigabytes_per_second": entry.bytes / mine * 1e-9,
                "gigaflops": entry.flops / mine * 1e-9 if entry.flops else None,
                "peer": entry.peer,
                "slow": slow,
                "reason": known if slow else None,
            }


def describe() -> dict:
    """What runs, on what."""
    import numpy

    import mica

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
    import mica

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
            f"{len(unexplained)} of them without a reason in docs/performance.md; "
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
        "reason in docs/performance.md, or a row has no entry",
    )
    ops.add_argument("--threads", type=int, default=2, help="on both sides (default: 2)")
    try:
        return bench_ops(parser.parse_args(argv))
    except ModuleNotFoundError as error:
        print(f"mica: bench needs {error.name}, which {sys.executable} has not", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
