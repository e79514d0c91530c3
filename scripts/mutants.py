#!/usr/bin/env python3
"""Shows that the op harness catches faults: puts single faults into copies of the source, builds
the harness with each and runs it.

    scripts/mutants.py [--seed 0] [--count 200] [--jobs 2] [--trust] [--plain]

The faults (scripts/mutations.py) lie in kernels, in the rules of transforms and shapes and in the
text of scalar functions, as many of each kind. Which ones a seed chooses depends on the faulty
lines alone, so that work elsewhere in the source changes few of them. A fault that does not
compile, or compiles to the same code, is replaced by another.

A fault is caught when the harness fails, crashes or does not end. Only ops whose cases reach the
line are run (measured once, with gcov). What the plain build does not catch is tried again with
AddressSanitizer and UBSan, as `make test` does. Survivors must be explained in tests/mutants.md;
the exit status is 1 when one is not, or when fewer than 95 % are caught.

Linear algebra is run with the built-in kernels and with a LAPACK, when numpy's is in .venv.

Everything happens in build-mutants/. --trust takes over what an earlier run there caught or
refused to compile, survivors that are explained, and which ops reach the lines of files that have
not changed since (cases that were added since may reach more). --plain leaves the sanitizers out;
what they alone would catch then counts as a survivor.
"""

import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time

import mutations

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORK = ROOT / "build-mutants"
REASONS = ROOT / "tests" / "mutants.md"
NEEDED = ("CMakeLists.txt", "cmake", "include", "src", "tests", "examples")
PRISTINE = WORK / "source"  # as it was when the run began
WANTED_SHARE = 0.95
STILL = 300
# All but `modes`, which compiles: both sides of what it compares have the fault.
PARTS = ("values", "derivatives", "vmap", "threads", "errors", "failures")
LINEAR_ALGEBRA = ("triangular_solve", "cholesky", "lu", "qr", "eigh", "eig", "svd")


# ---- copies of the source, and building them -----------------------------------------------------


def run(command, cwd, **options):
    return subprocess.run(
        command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options
    )


def must_run(command, cwd, **options):
    done = run(command, cwd, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout[-4000:]}")
    return done.stdout


def copy_source(root, tree):
    """Brings the copy up to date; files that have not changed keep their times."""
    for name in NEEDED:
        source, target = root / name, tree / name
        files = [source] if source.is_file() else sorted(p for p in source.rglob("*"))
        for file in files:
            to = tree / file.relative_to(root)
            if file.is_dir() or "__pycache__" in file.parts:
                continue
            data = file.read_bytes()
            if not to.exists() or to.read_bytes() != data:
                to.parent.mkdir(parents=True, exist_ok=True)
                to.write_bytes(data)
        if target.is_dir():
            for file in sorted(target.rglob("*")):
                if file.is_file() and not (root / file.relative_to(tree)).exists():
                    file.unlink()


def machine_isa():
    """One instruction set that this machine has, and that has kernels for every dtype: AVX-512's
    own are those of floats alone."""
    try:
        flags = set(re.search(r"flags\s*:(.*)", open("/proc/cpuinfo").read())[1].split())
    except (OSError, TypeError):
        flags = set()
    return "avx2" if {"avx2", "fma"} <= flags else "baseline"


def configure(tree, folder, *options, level="-O1"):
    """With kernels for one instruction set."""
    launcher = ["-DCMAKE_C_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    isa = machine_isa()
    flags = [f"-DMICA_ISA_ONLY={isa}", f"-DMICA_EXTRA_FLAGS_{isa}={level}"]
    quiet = ["-DMICA_CLI=OFF", "-DMICA_EXAMPLES=OFF", "-DMICA_WARNINGS_ARE_ERRORS=OFF"]
    command = ["cmake", "-S", str(tree), "-B", str(tree / folder), "-G", "Ninja"]
    must_run([*command, *launcher, *flags, *quiet, *options], tree, env=build_environment(tree))


def build_environment(tree):
    return os.environ | {"CCACHE_BASEDIR": str(tree), "CCACHE_NOHASHDIR": "1"}


def build(tree, folder, jobs):
    command = ["ninja", "-C", str(tree / folder), "-j", str(jobs), "harness"]
    return run(command, tree, env=build_environment(tree))


def object_hashes(tree, folder):
    """Of all code but the text of headers, which is for other devices' compilers."""
    return {
        str(file.relative_to(tree)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted((tree / folder).rglob("*.o"))
        if "embedded_headers" not in file.name
    }


# ---- running the harness -------------------------------------------------------------------------


def limits():
    """What a faulty program may use up."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))


def limits_with_memory():
    limits()
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))


def lapack():
    """numpy's, where `make build` put it; or None."""
    found = sorted(ROOT.glob(".venv/lib/python*/site-packages/numpy.libs/*openblas*.so*"))
    return str(found[0]) if found else None


def lapacks(ops):
    """What MICA_LAPACK is set to for these ops, one after the other."""
    concerned = ops is None or any(op in LINEAR_ALGEBRA for op in ops)
    return ["off", lapack()] if concerned and lapack() else ["off"]


def run_harness(program, ops, timeout, sanitized=False):
    """(caught, how)"""
    for library in lapacks(ops):
        arguments = [] if ops is None else [f"--ops={','.join(ops)}"]
        if ops and library != "off":
            arguments = [f"--ops={','.join(op for op in ops if op in LINEAR_ALGEBRA)}"]
        caught, how = run_once(program, arguments, library, timeout, sanitized)
        if caught and how.startswith("signal"):  # was it the fault, or the machine?
            whole = program.parents[1] / "build/harness-whole"
            fails, said = run_once(whole, arguments, library, timeout, False)
            if fails:
                sys.exit(f"the harness fails without any fault: {said}")
        if caught:
            break
    return caught, how


def processor_seconds(process):
    """Of all its threads until now; 0 when it cannot be known."""
    try:
        fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def watch(process, limit):
    """(whether it ended, its output or why it was stopped). Limits count the processor's time, so
    that a busy machine, or one where all of this is stopped for a while, makes no difference:
    `limit` seconds of work, or STILL looks in a row, a second apart, without any."""
    used, still = 0.0, 0
    while True:
        try:
            return True, process.communicate(timeout=1)[0].decode(errors="replace")
        except subprocess.TimeoutExpired:
            before, used = used, processor_seconds(process)
            still = still + 1 if used == before else 0
        if used > limit or still > STILL:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return False, f"did not end in {used:.0f} s" if used > limit else "stands still"


def run_once(program, arguments, library, timeout, sanitized):
    """In a folder of its own, without a terminal, and ended with all its threads."""
    folder = program.parent / "run"
    folder.mkdir(exist_ok=True)
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "MICA_LAPACK": library}
    if sanitized:
        environment |= {
            "MICA_TEST_QUICK": "1",
            "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:hard_rss_limit_mb=6000",
        }
    process = subprocess.Popen(
        [program, "--first", *PARTS, *arguments],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=limits if sanitized else limits_with_memory,
    )
    ended, output = watch(process, timeout)
    if not ended:
        return True, output
    if process.returncode == 0:
        return False, output.strip().split("\n")[-1]
    lines = [line.strip() for line in output.strip().split("\n") if line.strip()]
    said = next((line for line in lines if "Sanitizer" in line or "runtime error" in line), None)
    if process.returncode < 0:
        return True, f"signal {-process.returncode}"
    return True, (said or (lines[-1] if lines else ""))[:160]


# ---- which ops reach which line ------------------------------------------------------------------


class Reach:
    """ops[path][line]: the ops whose cases execute it; seconds[op]: what its cases take
    of the processor's time."""

    def __init__(self, data):
        self.ops, self.seconds, self.files = data["ops"], data["seconds"], data["files"]

    def of(self, path, line, text):
        """The ops to run for a fault in a line; None when any might be concerned."""
        if self.files.get(path) != file_hash(path):
            return None
        lines = self.ops.get(path, {})
        for k in range(line, max(line - 12, 0), -1):
            if str(k) in lines:
                return lines[str(k)]
            if k < line and re.search(r"[;{}]\s*(\\)?$", text[k - 1]):
                return None
            if text[k - 1].lstrip().startswith("#define") or text[k - 1].endswith("\\"):
                return None
        return None

    def near(self, path):
        """The ops that reach any line of a file: those to begin with where a line does not tell,
        as in the text of a macro."""
        return sorted({op for ops in self.ops.get(path, {}).values() for op in ops})

    def timeout(self, ops):
        """Twice as long at least: they were measured in a build without optimization."""
        return 30 + sum(t for op, t in self.seconds.items() if ops is None or op in ops)


def file_hash(path):
    return hashlib.sha256((PRISTINE / path).read_bytes()).hexdigest()


def source_hash():
    digest = hashlib.sha256()
    for folder in ("src", "tests/harness", "include", "cmake"):
        for file in sorted((PRISTINE / folder).rglob("*")):
            if file.is_file():
                digest.update(str(file).encode() + file.read_bytes())
    return digest.hexdigest()


def table_ops():
    text = (PRISTINE / "include/mica/ops.def").read_text()
    return re.findall(r"^MICA_OP\((\w+),", text, flags=re.M)


def measure_reach(workers, trust):
    stored, now = WORK / "reach.json", source_hash()
    if stored.exists():
        data = json.loads(stored.read_text())
        if data["hash"] == now or trust:
            return Reach(data)
    files = {path: file_hash(path) for path in mutations.sources(PRISTINE)}
    data = {"hash": now, "ops": {}, "seconds": {}, "files": files}
    waiting, lock = collections.deque(table_ops()), threading.Lock()
    in_parallel(workers, lambda worker: worker.measure_reach(waiting, data, lock))
    stored.write_text(json.dumps(data))
    return Reach(json.loads(stored.read_text()))


def in_parallel(workers, function):
    with concurrent.futures.ThreadPoolExecutor(len(workers)) as pool:
        for future in [pool.submit(function, worker) for worker in workers]:
            future.result()


def note_reached(folder, tree, op, ops, lock):
    wanted = ("device/cpu", "transform", "ir/shape_", "mica_isa_" + machine_isa())
    files = [str(f) for f in sorted(folder.rglob("*.gcda")) if any(w in str(f) for w in wanted)]
    output = subprocess.run(
        ["gcov", "--json-format", "--stdout", *files], cwd=tree, capture_output=True, text=True
    ).stdout
    documents = [json.loads(line) for line in output.split("\n") if line.strip()]
    with lock:
        for file in (file for document in documents for file in document["files"]):
            path = os.path.relpath(os.path.join(tree, file["file"]), tree)
            lines = ops.setdefault(path, {})
            for line in file["lines"]:
                reached = lines.setdefault(str(line["line_number"]), [])
                if line["count"] and op not in reached:
                    reached.append(op)


# ---- choosing ------------------------------------------------------------------------------------


def order_of(seed, fault):
    text = f"{seed}|{fault.path}|{fault.was}|{fault.now}|{fault.occurrence}"
    return hashlib.sha256(text.encode()).hexdigest()


def choose(seed):
    """For each kind all its faults, in the seed's order, at most one of a line."""
    by_kind = {kind: [] for kind in mutations.KINDS}
    for path in mutations.sources(PRISTINE):
        if "lapack" in path and not lapack():
            continue
        for fault in mutations.faults_of(path, (PRISTINE / path).read_text()):
            by_kind[fault.kind].append((order_of(seed, fault), fault))
    queues = {}
    for kind, faults in by_kind.items():
        lines = set()
        queues[kind] = collections.deque()
        for _, fault in sorted(faults, key=lambda pair: pair[0]):
            if (fault.path, fault.line) not in lines:
                lines.add((fault.path, fault.line))
                queues[kind].append(fault)
    return queues


# ---- one fault -----------------------------------------------------------------------------------


class Worker:
    """A copy of the source with its two builds. One fault is in it at a time."""

    def __init__(self, number, sanitize):
        self.sanitize = sanitize
        self.tree = WORK / f"tree-{number}"
        self.sanitized = False
        copy_source(PRISTINE, self.tree)
        configure(self.tree, "build")

    def prepare(self, jobs):
        done = build(self.tree, "build", jobs)
        if done.returncode != 0:
            sys.exit(done.stdout[-4000:])
        self.objects = object_hashes(self.tree, "build")
        shutil.copy2(self.tree / "build/harness", self.tree / "build/harness-whole")

    def measure_reach(self, waiting, data, lock):
        folder = self.tree / "build-reach"
        flags = "--coverage -fprofile-update=atomic -O0 -DNDEBUG"
        debug = "-DCMAKE_BUILD_TYPE=Debug"
        configure(self.tree, folder.name, debug, f"-DCMAKE_C_FLAGS={flags}", level="-O0")
        must_run(["ninja", "-C", str(folder), "-j", "1", "harness"], self.tree)
        while waiting:
            with lock:
                op = waiting.popleft() if waiting else None
            if not op:
                return
            for file in folder.rglob("*.gcda"):
                file.unlink()
            data["seconds"][op] = sum(self.reach_once(folder, op, lib) for lib in lapacks([op]))
            note_reached(folder, self.tree, op, data["ops"], lock)
            print(f"reach: {op} {data['seconds'][op]:.1f} s", flush=True)

    def reach_once(self, folder, op, library):
        """Runs an op's cases; what they took of the processor's time."""
        with open(folder / "output", "w+") as output:
            process = subprocess.Popen(
                [folder / "harness", *PARTS, f"--ops={op}"],
                cwd=self.tree,
                env=os.environ | {"MICA_LAPACK": library},
                stdout=output,
                stderr=subprocess.STDOUT,
            )
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode != 0:
                output.seek(0)
                sys.exit(f"the harness fails without any fault:\n{output.read()[-2000:]}")
        return usage.ru_utime + usage.ru_stime

    def put(self, fault):
        file = self.tree / fault.path
        lines = (PRISTINE / fault.path).read_text().split("\n")
        lines[fault.line - 1] = fault.now
        file.write_text("\n".join(lines))

    def restore(self, fault):
        (self.tree / fault.path).write_text((PRISTINE / fault.path).read_text())

    def try_fault(self, fault, reach):
        """(verdict, why)"""
        self.put(fault)
        try:
            return self.verdict(fault, reach)
        finally:
            self.restore(fault)

    def verdict(self, fault, reach):
        if build(self.tree, "build", 1).returncode != 0:
            return "refused", "does not compile"
        if object_hashes(self.tree, "build") == self.objects:
            return "refused", "compiles to the same code"
        ops = reach.of(fault.path, fault.line, (PRISTINE / fault.path).read_text().split("\n"))
        if ops is not None and not ops:
            return "survived", "no case reaches the line"
        caught, how = False, ""
        near = reach.near(fault.path) if ops is None else []
        if near:
            caught, how = run_harness(self.tree / "build/harness", near, reach.timeout(near))
        if not caught and (ops is None or ops):
            caught, how = run_harness(self.tree / "build/harness", ops, reach.timeout(ops))
        # No sanitizer sees a wrong number.
        if caught or fault.kind == "rounding" or not self.sanitize:
            return ("caught" if caught else "survived"), how
        if not self.sanitized:
            configure(self.tree, "build-address", "-DMICA_SANITIZE=address,undefined")
            self.sanitized = True
        if build(self.tree, "build-address", 1).returncode != 0:
            return "refused", "does not compile"
        program = self.tree / "build-address/harness"
        caught, how = run_harness(program, ops, 5 * reach.timeout(ops), sanitized=True)
        return ("caught" if caught else "survived"), how


# ---- reasons and reports -------------------------------------------------------------------------


def read_reasons():
    """{(path, was, now): reason} from tests/mutants.md."""
    reasons, path = {}, None
    text = REASONS.read_text() if REASONS.exists() else ""
    entry = re.compile(r"^- `(.*?)`\n  `(.*?)`\n((?:  .*\n?)+)", flags=re.M)
    for part in re.split(r"^## ", text, flags=re.M)[1:]:
        path, _, body = part.partition("\n")
        for was, now, reason in entry.findall(body):
            reasons[(path.strip(), was.strip(), now.strip())] = " ".join(reason.split())
    return reasons


def report(results, reasons, seconds):
    counted = [r for r in results if r["verdict"] != "refused"]
    caught = [r for r in counted if r["verdict"] == "caught"]
    survivors = [r for r in counted if r["verdict"] == "survived"]
    unexplained = [r for r in survivors if (r["path"], r["was"], r["now"]) not in reasons]
    for r in survivors:
        reason = reasons.get((r["path"], r["was"], r["now"]), "NOT EXPLAINED")
        print(f"\nsurvived: {r['path']}:{r['line']} ({r['kind']}; {r['why']})")
        print(f"  - {r['was']}\n  + {r['now']}\n  {reason}")
    print()
    for kind in mutations.KINDS:
        some = [r for r in counted if r["kind"] == kind]
        print(f"{kind:9}{sum(r['verdict'] == 'caught' for r in some):4} of {len(some)} caught")
    share = len(caught) / max(len(counted), 1)
    print(
        f"{len(caught)} of {len(counted)} faults caught ({100 * share:.1f} %), "
        f"{len(survivors) - len(unexplained)} survivors explained, {len(unexplained)} not; "
        f"{len(results) - len(counted)} others did not compile or changed nothing; {seconds:.0f} s"
    )
    return 0 if share >= WANTED_SHARE and not unexplained else 1


def identity(fault):
    return "|".join((fault.path, fault.was, fault.now, str(fault.occurrence)))


class Campaign:
    """Workers take faults of each kind in turn until enough of the kind count."""

    def __init__(self, seed, count, reach, trusted):
        self.queues = choose(seed)
        self.reach, self.trusted, self.reasons = reach, trusted, read_reasons()
        self.lock = threading.Lock()
        shares = {kind: count // len(mutations.KINDS) for kind in mutations.KINDS}
        for kind in mutations.KINDS[: count % len(mutations.KINDS)]:
            shares[kind] += 1
        self.pending = collections.deque()
        for turn in range(max(shares.values())):
            self.pending.extend(kind for kind in mutations.KINDS if turn < shares[kind])
        self.results = []

    def next_fault(self):
        with self.lock:
            while self.pending:
                kind = self.pending.popleft()
                if self.queues[kind]:
                    return self.queues[kind].popleft()
        return None

    def work(self, worker):
        while (fault := self.next_fault()) is not None:
            begin = time.time()
            known = self.trusted.get(identity(fault))
            if known and (known["verdict"] != "survived" or self.is_explained(fault)):
                verdict, why = known["verdict"], known["why"]
            else:
                verdict, why = worker.try_fault(fault, self.reach)
            self.note(fault, verdict, why, time.time() - begin)

    def is_explained(self, fault):
        return (fault.path, fault.was.strip(), fault.now.strip()) in self.reasons

    def note(self, fault, verdict, why, seconds):
        with self.lock:
            if verdict == "refused":
                self.pending.appendleft(fault.kind)
            row = {"path": fault.path, "line": fault.line, "kind": fault.kind, "verdict": verdict}
            row |= {"was": fault.was.strip(), "now": fault.now.strip(), "why": why}
            self.results.append(row | {"identity": identity(fault)})
            self.trusted[identity(fault)] = row
            (WORK / "results.json").write_text(json.dumps(self.trusted, indent=1))
            counted = sum(r["verdict"] != "refused" for r in self.results)
            print(
                f"{counted:4} {verdict:9} {fault.path}:{fault.line} {fault.kind} "
                f"({why}) {seconds:.0f} s",
                flush=True,
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=int(os.environ.get("JOBS", "2")))
    parser.add_argument("--trust", action="store_true", help="take over what was caught before")
    parser.add_argument("--plain", action="store_true", help="without the sanitizers, to be quick")
    options = parser.parse_args()
    begin = time.time()
    WORK.mkdir(exist_ok=True)
    copy_source(ROOT, PRISTINE)
    workers = [Worker(i, not options.plain) for i in range(options.jobs)]
    for worker in workers:
        worker.prepare(options.jobs)
    reach = measure_reach(workers, options.trust)
    stored = WORK / "results.json"
    trusted = json.loads(stored.read_text()) if options.trust and stored.exists() else {}
    campaign = Campaign(options.seed, options.count, reach, trusted)
    in_parallel(workers, campaign.work)
    sys.exit(report(campaign.results, read_reasons(), time.time() - begin))


if __name__ == "__main__":
    main()
