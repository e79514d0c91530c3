"""Processes that train together from C: by mpirun, by addresses, and what becomes of a loss."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from house import BUILD, ROOT, compiler, run

MNIST = BUILD / "examples/mnist"
MPIRUN = shutil.which("mpirun", path=str(Path(sys.executable).parent))
ROOT_MAY = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

pytestmark = pytest.mark.skipif(not MNIST.exists(), reason=f"{MNIST} has not been built")
needs_mpi = pytest.mark.skipif(not MPIRUN, reason="there is no mpirun beside Python")


def write_idx(path, array):
    sizes = b"".join(n.to_bytes(4, "big") for n in array.shape)
    path.write_bytes(bytes([0, 0, 8, array.ndim]) + sizes + array.tobytes())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A small set in MNIST's format, and the losses of one process with four shards."""
    made = tmp_path_factory.mktemp("mnist")
    random = np.random.default_rng(3)
    for prefix, n in (("train", 400), ("t10k", 150)):
        labels = random.integers(0, 3, n).astype(np.uint8)
        images = random.integers(0, 80, (n, 9, 10)) + 70 * labels[:, None, None]
        write_idx(made / f"{prefix}-images-idx3-ubyte", images.astype(np.uint8))
        write_idx(made / f"{prefix}-labels-idx1-ubyte", labels)
    finish(start([], made, "one"))
    return made


def start(launcher, folder, name, epochs=2, shards=4, more=(), **environment):
    command = [*launcher, MNIST, "--data", folder, "--epochs", epochs, "--device", "cpu"]
    command += ["--shards", shards, "--losses", folder / name, "--plot", folder / f"{name}.png"]
    return subprocess.Popen(
        [str(part) for part in [*command, *more]],
        env={**os.environ, **ROOT_MAY, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process):
    out, error = process.communicate(timeout=100)
    assert process.returncode == 0, error
    return out


def by_mpi(count):
    return [MPIRUN, "-n", str(count), "--oversubscribe"]


def addresses(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("localhost", 0))
    found = [f"localhost:{each.getsockname()[1]}" for each in sockets]
    for each in sockets:
        each.close()
    return ",".join(found)


@needs_mpi
@pytest.mark.parametrize("count", [4, 2])
def test_mpirun_trains_to_the_bits_of_one_process(folder, count):
    assert f"4 shards, {count} processes (mpi)" in finish(start(by_mpi(count), folder, "mpi"))
    assert (folder / "mpi").read_text() == (folder / "one").read_text()


def test_processes_with_addresses_train_to_the_bits_of_one(folder):
    places = addresses(2)
    all_of_them = [
        start([], folder, "tcp", MICA_DIST_ADDRESSES=places, MICA_DIST_RANK=str(rank))
        for rank in range(2)
    ]
    said = [finish(each) for each in all_of_them]
    assert "4 shards, 2 processes (tcp)" in said[0] and not said[1]
    assert (folder / "tcp").read_text() == (folder / "one").read_text()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_process_that_is_lost_is_named_by_the_others(folder, number):
    places = addresses(3)
    ranks = [
        start([], folder, "lost", 20000, 3, MICA_DIST_ADDRESSES=places, MICA_DIST_RANK=str(rank))
        for rank in range(3)
    ]
    try:
        time.sleep(1.0)
        os.kill(ranks[1].pid, number)
        begun = time.monotonic()
        for each in (ranks[0], ranks[2]):
            assert "rank 1 (localhost:" in each.communicate(timeout=60)[1]
            assert each.returncode == 1
        assert time.monotonic() - begun < 10.0
    finally:
        for each in ranks:
            each.kill()
            each.communicate()


def test_a_run_that_lost_a_process_goes_on_from_its_checkpoint(folder):
    """By one process where two were: with the bits of a run that was not interrupted."""
    finish(start([], folder, "whole", 20))
    places = addresses(2)
    saved = ["--checkpoint", folder / "state.npz"]
    ranks = [
        start([], folder, "cut", 20, 4, saved, MICA_DIST_ADDRESSES=places, MICA_DIST_RANK=str(rank))
        for rank in range(2)
    ]
    while not (folder / "state.npz").exists() and ranks[0].poll() is None:
        time.sleep(0.01)
    ranks[1].kill()
    assert "rank 1 (localhost:" in ranks[0].communicate(timeout=60)[1]
    ranks[1].communicate()
    assert not (folder / "cut").exists()
    finish(start([], folder, "cut", 20, 4, saved))
    assert (folder / "cut").read_text() == (folder / "whole").read_text()


@needs_mpi
def test_mpirun_ends_when_a_process_is_killed(folder):
    note = f'echo $$ > "{folder}/pid.$OMPI_COMM_WORLD_RANK"; exec "$0" "$@"'
    launched = start([*by_mpi(4), "sh", "-c", note], folder, "lost", 20000)
    while not (folder / "lost.begun").exists() and launched.poll() is None:
        if all((folder / f"pid.{rank}").exists() for rank in range(4)):
            (folder / "lost.begun").touch()
        time.sleep(0.1)
    time.sleep(2.0)
    os.kill(int((folder / "pid.2").read_text()), signal.SIGKILL)
    begun = time.monotonic()
    error = launched.communicate(timeout=60)[1]
    assert time.monotonic() - begun < 10.0
    assert launched.returncode and ("rank 2: was lost" in error or "signal 9" in error), error


LINKED = """
#include <mica/mica.h>
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
    int threads, rank;
    float x = 1;
    mica_dist *dist = NULL;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &threads);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    mica_status status = mica_dist_open(NULL, &dist);
    if (!status)
        status = mica_dist_all_reduce(dist, MICA_DIST_SUM, MICA_DTYPE_f32, &x, &x, 1);
    printf("%d %d %g %s\\n", rank, mica_dist_rank(dist), x, mica_status_message(status));
    mica_status_release(status);
    mica_dist_release(dist);
    MPI_Finalize();
    return 0;
}
"""


@needs_mpi
@pytest.mark.skipif(not compiler(), reason="no C compiler was found")
def test_a_program_that_is_linked_with_mpi_shares_it(folder):
    prefix = Path(MPIRUN).parent.parent
    (folder / "linked.c").write_text(LINKED, encoding="utf-8")
    command = [*compiler(), folder / "linked.c", "-o", folder / "linked"]
    for flag, path in (("-I", prefix / "include"), ("-I", ROOT / "include")):
        command.append(f"{flag}{path}")
    for path, library in ((prefix / "lib", "mpi"), (BUILD, "mica")):
        command += [f"-L{path}", f"-Wl,-rpath,{path}", f"-l{library}"]
    made = run(*command)
    assert made.returncode == 0, made.stderr
    found = subprocess.run(
        [*by_mpi(2), folder / "linked"],
        env={**os.environ, **ROOT_MAY},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert sorted(found.stdout.splitlines()) == ["0 0 2 ", "1 1 2 "], found.stderr


def test_without_mpi_what_needs_it_says_what_to_install(folder):
    process = start([], folder, "none", MICA_DIST="mpi", MICA_MPI="off")
    assert "MICA_MPI is 'off'" in process.communicate(timeout=60)[1]
    assert process.returncode == 1
