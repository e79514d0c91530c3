"""Mica beside its peers: `make bench`, or `python bench/run.py [case...] [--check]`.

Every framework has an environment and a process of its own. The driver lets them take turns, batch
by batch of one case after the other, and measures meanwhile how busy the machine was with other
things. A figure is the median over quiet batches; a framework's is that of its best idiom.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cases import CASES, THREADS, Case
from missed import MISSED

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
ENVIRONMENTS = ROOT / ".bench"
PEERS = {"tf": "tensorflow-cpu", "torch": "torch", "jax": "jax"}
OWN = ["matplotlib", "keras"]  # for the chart; for tf.keras
FRAMEWORKS = ["mica", *PEERS]
TITLES = {"mica": "Mica", "tf": "TensorFlow", "torch": "PyTorch", "jax": "JAX"}
TICKS = os.sysconf("SC_CLK_TCK")
PATIENCE = float(os.environ.get("PATIENCE", 5))  # seconds to wait for others, per case and idiom
QUIET, ENOUGH = 0.05, 9
MOST_MISSED = 2  # bars, in one run
ONE_INTER_OP = " inter_op=1"  # TensorFlow with one thread between ops: calls are faster
VARIANTS = {name: (ONE_INTER_OP,) for name in ("tf_function", "tf_function_nested")}
LONGEST = float(os.environ.get("LONGEST", 10))  # seconds to time an idiom on a machine never quiet


# ---- environments --------------------------------------------------------------------------------
def python_of(framework: str) -> Path:
    """The interpreter of a framework's environment."""
    return ENVIRONMENTS / framework / "bin" / "python"


def install() -> None:
    """Makes the environments that are missing, with the newest peers from PyPI."""
    for framework in FRAMEWORKS:
        done = ENVIRONMENTS / framework / "installed"
        wanted = ["numpy", *OWN] if framework == "mica" else ["numpy", PEERS[framework]]
        if done.exists() and (framework != "mica" or done.read_text() == " ".join(wanted)):
            continue
        print(f"bench: installing {framework}", file=sys.stderr)
        if not python_of(framework).exists():
            subprocess.run(
                [sys.executable, "-m", "venv", str(ENVIRONMENTS / framework)], check=True
            )
        pip = [python_of(framework), "-m", "pip", "install", "--disable-pip-version-check"]
        subprocess.run([*pip, "--quiet", "--upgrade", *wanted], check=True)
        if framework == "mica":
            show = "import sysconfig; print(sysconfig.get_path('purelib'))"
            folder = subprocess.check_output([python_of("mica"), "-c", show], text=True).strip()
            Path(folder, "mica-build.pth").write_text(f"{ROOT / 'build' / 'python'}\n")
        done.write_text(" ".join(wanted))


def environment() -> dict[str, str]:
    """Variables of a worker: two threads for everybody, no GPU, no chatter."""
    names = ["OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MICA_THREADS"]
    more = {
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "CUDA_VISIBLE_DEVICES": "",
        "JAX_PLATFORMS": "cpu",
        "KERAS_BACKEND": "tensorflow",
        "PYTHONPATH": str(HERE),
    }
    return {**os.environ, **dict.fromkeys(names, str(THREADS)), **more}


# ---- processes -----------------------------------------------------------------------------------
class Worker:
    """A framework's process."""

    def __init__(self, framework: str, variant: str = "", **variables: str) -> None:
        self.framework, self.variant = framework, variant
        self.process = subprocess.Popen(
            [python_of(framework), HERE / "worker.py", framework],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=(ENVIRONMENTS / f"{framework}{variant}.log").open("w"),
            text=True,
            env={**environment(), **variables},
        )
        self.version = self._answer()["version"]

    def _answer(self) -> dict:
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"bench: the process of {self.framework} ended; see .bench/*.log")
        return json.loads(line)

    def ask(self, do: str, **more: Any) -> dict:
        """One command, one answer."""
        self.process.stdin.write(json.dumps({"do": do, **more}) + "\n")
        self.process.stdin.flush()
        return self._answer()

    def cpu_time(self) -> float:
        """Seconds that all its threads have computed."""
        with open(f"/proc/{self.process.pid}/stat") as file:
            return sum(map(int, file.read().rsplit(")", 1)[1].split()[11:13])) / TICKS

    def close(self) -> None:
        """Ends the process."""
        self.process.stdin.close()
        self.process.wait()


class Machine:
    """How busy the machine is with other things than a set of workers and this process."""

    def __init__(self, workers: list[Worker]) -> None:
        self.workers = workers

    def others(self) -> float:
        """CPU seconds so far."""
        with open("/proc/stat") as file:
            fields = list(map(int, file.readline().split()[1:9]))
        busy = (sum(fields) - fields[3] - fields[4]) / TICKS
        return busy - sum(os.times()[:2]) - sum(w.cpu_time() for w in self.workers)

    def wait_for_quiet(self, until: float) -> None:
        """Sleeps while others are busy, but not past a time."""
        while time.perf_counter() < until:
            begin = self.others()
            time.sleep(0.1)
            if self.others() - begin <= 0.011:
                break


# ---- timing --------------------------------------------------------------------------------------
@dataclass
class Series:
    """The batches of one idiom: (share of the machine that others used, seconds per step)."""

    worker: Worker
    idiom: str
    batches: list[tuple[float, float]] = field(default_factory=list)
    spent: float = 0

    def is_enough(self) -> bool:
        """Nine quiet batches of two seconds, or LONGEST seconds of whatever there is."""
        quiet = sum(share < QUIET for share, _ in self.batches)
        return (quiet >= ENOUGH and self.spent > 2) or (
            len(self.batches) >= 5 and self.spent > LONGEST
        )

    def add(self, machine: Machine) -> None:
        """One more batch."""
        begin, start = machine.others(), time.perf_counter()
        answer = self.worker.ask("batch", idiom=self.idiom)
        took = time.perf_counter() - start
        share = max(0.0, machine.others() - begin) / took / (os.cpu_count() or 1)
        self.batches.append((share, answer["seconds"]))
        self.spent += took

    def summary(self) -> dict:
        """The median of the quiet batches, or of the five quietest."""
        quiet = sum(share < QUIET for share, _ in self.batches)
        kept = sorted(self.batches)[: max(5, quiet)]
        seconds = [s for _, s in kept]
        low, median, high = statistics.quantiles(seconds, n=4) if len(seconds) > 1 else seconds * 3
        return {
            "seconds": median,
            "spread": (high - low) / 2 / median,
            "others": statistics.mean(share for share, _ in kept),
            "fastest": min(seconds),
            "batches": len(self.batches),
        }


def having(case: Case, workers: list[Worker]) -> list[Worker]:
    """The workers that take part in a case; variants of TensorFlow in those that name them."""
    named = [w for w in workers if w.framework in case.frameworks(FRAMEWORKS)]
    return [w for w in named if not w.variant or w.variant in VARIANTS.get(case.name, ())]


def stored(worker: Worker) -> str:
    """Where a worker's values of a case are."""
    folder = ENVIRONMENTS / "values"
    folder.mkdir(exist_ok=True)
    return str(folder / f"{worker.framework}{worker.variant}.npz")


def differences(workers: list[Worker]) -> dict[str, list[str]]:
    """What each framework computed otherwise than Mica, which compares all the values."""
    own = next((w for w in workers if w.framework == "mica"), None)
    if not own or len(workers) == 1:
        return {}
    paths = {w.framework + w.variant: stored(w) for w in workers}
    found = own.ask("compare", paths=paths)
    if "error" in found:
        raise RuntimeError(found["error"])
    return {name: words for name, words in found["differences"].items() if words}


def time_case(case: Case, workers: list[Worker], machine: Machine) -> dict:
    """Seconds per framework, in turns."""
    series: list[Series] = []
    found: dict[str, dict] = {}
    workers, computed = having(case, workers), []
    for worker in workers:
        answer = worker.ask("prepare", case=case.name, path=stored(worker))
        if "error" in answer:
            found[worker.framework] = {"error": answer["error"]}
            continue
        if answer["failed"]:
            found.setdefault(worker.framework, {})["failed"] = answer["failed"]
        computed.append(worker)
        # An idiom that is far behind another of the same framework need not be timed.
        best = min(answer["times"].values(), default=0)
        series += [Series(worker, n) for n, t in answer["times"].items() if t < 1.5 * best]
    patience = time.perf_counter() + PATIENCE * len(series)
    while not all(s.is_enough() for s in series):
        for one in series:
            if not one.is_enough():
                machine.wait_for_quiet(patience)
                one.add(machine)
    for one in series:
        summary = {**one.summary(), "idiom": one.idiom + one.worker.variant}
        entry = found.setdefault(one.worker.framework, {})
        if "seconds" not in entry or summary["seconds"] < entry["seconds"]:
            entry.update(summary)
    differs = differences(computed)
    for worker in workers:
        worker.ask("drop")
    return {"frameworks": found, "differs": differs}


def compare(names: list[str], frameworks: list[str]) -> int:
    """Whether all frameworks compute the same; times nothing."""
    workers = [Worker(f) for f in frameworks]
    wrong = 0
    for name in (n for n in names if "process" not in CASES[n].tags):
        taking = having(CASES[name], workers)
        answers = {w: w.ask("evaluate", case=name, path=stored(w)) for w in taking}
        failed = {w.framework: a["error"] for w, a in answers.items() if "error" in a}
        differs = differences([w for w in taking if w.framework not in failed])
        wrong += bool(differs or failed)
        print(f"{name}: {failed or differs or 'the same'}", flush=True)
    for worker in workers:
        worker.close()
    return wrong


def import_beyond_numpy(frameworks: list[str]) -> dict:
    """What importing TensorFlow's names takes beyond numpy: the fastest of each, in turns."""
    names = {"mica": "mica.tf", "tf": "tensorflow"}
    found: dict[str, dict] = {}
    for framework in frameworks:
        fastest = {}
        for name in ("numpy", f"numpy, {names[framework]}") * 6:
            begin = time.perf_counter()
            command = [python_of(framework), "-c", f"import {name}"]
            subprocess.run(command, env=environment(), check=True, capture_output=True)
            fastest[name] = min(time.perf_counter() - begin, fastest.get(name, 1e9))
        seconds = fastest[f"numpy, {names[framework]}"] - fastest["numpy"]
        found[framework] = {"seconds": seconds, "idiom": "process"}
    return {"frameworks": found, "differs": {}}


def once(case: Case, framework: str, attempt: int, idiom: str) -> Any:
    """What a fresh process prints: a figure or, without an idiom, the names of its idioms."""
    command = [python_of(framework), HERE / "worker.py", framework, "once", case.name, idiom]
    env = environment()
    if case.name.startswith("first_"):  # the cache of an earlier run is not used
        for variable in "MICA_CACHE", "TORCHINDUCTOR_CACHE_DIR":
            name = f"{os.getpid()}-{framework}-{attempt}-{idiom}".replace(" ", "-")
            folder = ENVIRONMENTS / "cache" / name
            folder.mkdir(parents=True, mode=0o700, exist_ok=True)
            env[variable] = str(folder)
    if case.name.startswith("first_compiled"):
        env["MICA_TIER"] = "compiled"
    run = subprocess.run(command, env=env, capture_output=True, text=True)
    if run.returncode:
        raise RuntimeError(run.stderr[-300:])
    return json.loads(run.stdout)


def import_times(framework: str) -> float:
    """Seconds of a process that imports a framework."""
    module = {"tf": "tensorflow"}.get(framework, framework)
    begin = time.perf_counter()
    command = [python_of(framework), "-c", f"import {module}"]
    subprocess.run(command, env=environment(), check=True, capture_output=True)
    return time.perf_counter() - begin


def once_case(case: Case, frameworks: list[str]) -> dict:
    """Figures of fresh processes, in turns: of each framework's best idiom the best of some."""
    frameworks = case.frameworks(frameworks)
    if case.name == "import_tf":
        return import_beyond_numpy(frameworks)
    found: dict[str, dict] = {f: {} for f in frameworks}
    alone = case.name.startswith(("import", "installed"))
    rounds = {"installed": 1, "installed_tf": 1, "import": 6}.get(case.name, 2)
    for attempt, framework in ((a, f) for a in range(rounds) for f in frameworks):
        entry = found[framework]
        try:
            for idiom in ["process"] if alone else once(case, framework, 0, ""):
                if case.name == "import":
                    value = import_times(framework)
                else:
                    value = once(case, framework, attempt, idiom)
                if value <= entry.get("seconds", value):
                    entry.update(seconds=value, idiom=idiom)
        except (RuntimeError, subprocess.CalledProcessError) as error:
            entry["error"] = str(error)
    return {"frameworks": found, "differs": {}}


# ---- judging -------------------------------------------------------------------------------------
def reaches(case: Case, own: float, peers: dict[str, float]) -> bool:
    """Whether it is as many times as good as each peer as the case asks for."""
    bars = case.bars or dict.fromkeys(peers, 1.0)
    ratios = {f: own / v if case.better == "more" else v / own for f, v in peers.items()}
    return all(ratios[f] >= bar for f, bar in bars.items() if f in ratios)


def judge(case: Case, entry: dict, limits: dict) -> None:
    """Adds values, the best peer, the ratio to it, the fraction of the limit, and the verdict."""
    values = {
        name: case.value(found["seconds"])
        for name, found in entry["frameworks"].items()
        if "seconds" in found
    }
    entry["values"], entry["unit"] = values, case.unit
    peers = {name: v for name, v in values.items() if name != "mica"}
    own = values.get("mica")
    choose = max if case.better == "more" else min
    entry["best_peer"] = choose(peers, key=peers.get) if peers else None
    if own and peers:
        best = peers[entry["best_peer"]]
        entry["ratio"] = own / best if case.better == "more" else best / own
    if own:
        seconds = entry["frameworks"]["mica"]["seconds"]
        if case.flops:
            entry["limit"] = case.flops / seconds / 1e9 / limits["fma_gflops"]
        elif case.bytes:
            entry["limit"] = case.bytes / seconds / 1e9 / limits[case.limited_by]
    entry["bar"] = {"ratio": case.bars or 1.0, "limit": case.fraction}
    entry["met"] = (
        own is not None
        and (own <= case.most or not case.most)
        and (not peers or reaches(case, own, peers))
        and entry.get("limit", 1) >= case.fraction
    )


def _several(values: list[float], form: str) -> str:
    """One value as it is; of several the median and between what they lie."""
    middle = format(statistics.median(values), form)
    low, high = format(min(values), form), format(max(values), form)
    return middle if low == high else f"{middle} ({low} to {high})"


def _cells(entries: list[dict]) -> list[str]:
    """Of one case in one or more runs: medians, and what the ratio and the limit lie between."""
    cells = []
    for framework in FRAMEWORKS:
        found = [e["values"][framework] for e in entries if framework in e["values"]]
        cells.append(f"{statistics.median(found):.4g}" if found else "-")
    for key, form in ("ratio", ".2f"), ("limit", ".0%"):
        found = [e[key] for e in entries if key in e]
        cells.append(_several(found, form) if found else "-")
    missed = sum(not e["met"] for e in entries)
    if len(entries) == 1:
        return [*cells, "missed" if missed else "met"]
    return [*cells, f"missed in {missed} of {len(entries)}" if missed else "met"]


def table(runs: list[dict]) -> str:
    """The results of one run or of several as a table in Markdown."""
    heads = [*(TITLES[f] for f in FRAMEWORKS), "to best peer", "of limit", "bar"]
    lines = [
        f"| case | unit | {' | '.join(heads)} |",
        "|---|---|" + "---:|" * (len(heads) - 1) + "---|",
    ]
    for name in runs[0]["cases"]:
        entries = [run["cases"][name] for run in runs if name in run["cases"]]
        lines.append(f"| {name} | {entries[0]['unit']} | {' | '.join(_cells(entries))} |")

    def limit(name: str) -> float:
        return statistics.median(run["limits"][name] for run in runs)

    rates = [f"FMA peak {limit('fma_gflops'):.0f} GFLOP/s", f"copy {limit('copy_gbs'):.1f} GB/s"]
    rates.append(f"streaming {limit('stream_gbs'):.1f} GB/s; {THREADS} threads, f32. ")
    versions = [f"{TITLES[f]} {v}" for f, v in runs[0]["versions"].items()]
    return "\n".join([*lines, "", ", ".join(rates) + ", ".join(versions)])


def missed_table() -> str:
    """The reasons as a table in Markdown, as docs/performance.md has it."""
    lines = ["| case | bound, gap |", "|---|---|"]
    return "\n".join([*lines, *(f"| `{name}` | {reason} |" for name, reason in MISSED.items())])


def check(results: dict) -> list[str]:
    """What is wrong: bars missed without a word in missed.py, too many of them, wrong values."""
    missed = [name for name, entry in results["cases"].items() if not entry["met"]]
    wrong = []
    if len(missed) > MOST_MISSED:
        wrong.append(f"more than {MOST_MISSED} bars are missed: {', '.join(missed)}")
    for name, entry in results["cases"].items():
        for framework, words in entry["differs"].items():
            wrong.append(f"{name}: {framework} computed something else: {'; '.join(words[:3])}")
        if not entry["met"] and name not in MISSED:
            wrong.append(f"{name}: misses its bar, and bench/missed.py does not say why")
    return wrong


# ---- main ----------------------------------------------------------------------------------------
class Limits:
    """What the machine can do: limit.c, run before each case. The median over the run counts."""

    def __init__(self) -> None:
        self.program = ENVIRONMENTS / "limit"
        flags = ["-O3", "-march=native", "-pthread"]
        compiler = os.environ.get("CC", "cc")
        subprocess.run([compiler, *flags, HERE / "limit.c", "-o", self.program], check=True)
        self.found: dict[str, list[float]] = {}

    def measure(self, case: Case | None = None) -> None:
        """Once more; the disk, by dd, only for a case that it bounds."""
        found = json.loads(subprocess.check_output([self.program, str(THREADS)]))
        if case and case.limited_by.startswith("disk"):
            found |= self._disk(int(case.bytes))
        for name, value in found.items():
            self.found.setdefault(name, []).append(value)

    def _disk(self, size: int) -> dict:
        """GB/s of writing a file until it is on the disk, and of reading one that is in memory."""
        source, copy = ENVIRONMENTS / "disk.source", ENVIRONMENTS / "disk.copy"
        count = f"count={size >> 20}"
        if not source.exists() or source.stat().st_size != size:
            _dd("if=/dev/urandom", f"of={source}", count)
        return {
            "disk_write_gbs": size / 1e9 / _dd(f"if={source}", f"of={copy}", count, "conv=fsync"),
            "disk_read_gbs": size / 1e9 / _dd(f"if={copy}", "of=/dev/null", count),
        }

    def median(self) -> dict:
        """Of all that was measured so far."""
        return {name: statistics.median(values) for name, values in self.found.items()}


def _dd(*arguments: str) -> float:
    """Seconds that dd takes."""
    begin = time.perf_counter()
    subprocess.run(["dd", "bs=1M", *arguments], check=True, capture_output=True)
    return time.perf_counter() - begin


def measure(names: list[str], frameworks: list[str]) -> dict:
    """All results of a run."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:THREADS])
    limits = Limits()
    timed = any("process" not in CASES[n].tags for n in names)
    workers = [Worker(f) for f in frameworks] if timed else []
    if "tf" in frameworks and any(n in VARIANTS for n in names):
        workers.append(Worker("tf", ONE_INTER_OP, INTER_OP="1"))
    results: dict[str, Any] = {
        "machine": platform.processor() or platform.machine(),
        "threads": THREADS,
        "versions": {w.framework: w.version for w in workers if not w.variant},
        "cases": {},
    }
    machine = Machine(workers)
    for name in names:
        case, begin = CASES[name], time.perf_counter()
        limits.measure(case)
        once = "process" in case.tags
        entry = once_case(case, frameworks) if once else time_case(case, workers, machine)
        results["cases"][name] = entry
        if case.limited_by.startswith("disk"):
            limits.measure(case)
        judge(case, entry, limits.median())
        shown = {f: f"{v:.4g}" for f, v in entry["values"].items()}
        spent = time.perf_counter() - begin
        print(f"bench: {name} {case.unit} {shown} ({spent:.0f} s)", file=sys.stderr, flush=True)
        errors = {f: e["error"] for f, e in entry["frameworks"].items() if "error" in e}
        for framework, error in errors.items():
            print(f"bench:   {framework}: {error}", file=sys.stderr)
    for worker in workers:
        worker.close()
    limits.measure()
    results["limits"] = limits.median()
    for name, entry in results["cases"].items():
        judge(CASES[name], entry, results["limits"])
    return results


def draw(results: Path, picture: Path) -> None:
    """The chart, by the environment that has matplotlib."""
    subprocess.run([python_of("mica"), HERE / "chart.py", results, picture], check=True)


def main() -> int:
    """Parse arguments, measure, print, write, judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", help="names, or parts of names; default: all")
    parser.add_argument("--check", action="store_true", help="fail when a bar is missed silently")
    parser.add_argument("--only", nargs="+", default=FRAMEWORKS, help="frameworks")
    parser.add_argument(
        "--read", type=Path, nargs="+", help="judge the results in these files, run nothing"
    )
    parser.add_argument("--out", type=Path, default=ENVIRONMENTS / "results.json")
    parser.add_argument("--compare", action="store_true", help="compare values, time nothing")
    arguments = parser.parse_args()
    wanted = arguments.cases
    exact = [n for n in CASES if n in wanted]
    names = (
        exact if len(exact) == len(wanted) else [n for n in CASES if any(w in n for w in wanted)]
    )
    names = names or list(CASES)
    if arguments.compare:
        install()
        return 1 if compare(names, arguments.only) else 0
    if arguments.read:
        runs = [json.loads(path.read_text()) for path in arguments.read]
    else:
        ENVIRONMENTS.mkdir(exist_ok=True)
        install()
        runs = [measure(names, arguments.only)]
        arguments.out.write_text(json.dumps(runs[0], indent=1))
        draw(arguments.out, arguments.out.with_suffix(".png"))
    print(table(runs))
    wrong = [line for results in runs for line in check(results)]
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if arguments.check and wrong else 0


if __name__ == "__main__":
    sys.exit(main())
