"""Files stay whole: whenever a writer is killed, and whoever else writes."""

import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import killing
import mica
import mica.tf as tf
import pytest
from mica import _mica

KINDS = (
    "checkpoint", "save", "manager", "saved_model", "c_saved_model", "file", "records", "text",
    "safetensors", "npz", "npy",
)  # fmt: skip


def run(test, kind, tmp_path):
    driver = Path(__file__).with_name("file_writers.py")
    done = subprocess.run(
        [sys.executable, str(driver), test, kind, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout)


@pytest.mark.skipif(not killing.is_possible(), reason="system calls are followed on Linux")
@pytest.mark.parametrize("kind", KINDS)
def test_a_kill_between_two_system_calls_leaves_the_old_or_the_new(kind, tmp_path):
    run("replaced", kind, tmp_path)


@pytest.mark.skipif(not killing.is_possible(), reason="system calls are followed on Linux")
@pytest.mark.parametrize("kind", KINDS)
def test_a_first_writer_that_is_killed_leaves_nothing_that_is_taken_for_a_model(kind, tmp_path):
    run("first", kind, tmp_path)


@pytest.mark.skipif(not killing.is_possible(), reason="system calls are followed on Linux")
def test_a_kill_while_compiled_code_is_kept_leaves_a_cache_that_can_be_used(tmp_path):
    run("cached", "cache", tmp_path)


@pytest.mark.skipif(not killing.is_possible(), reason="system calls are followed on Linux")
def test_a_kill_while_events_are_written_leaves_those_that_were_flushed(tmp_path):
    run("grown", "events", tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_kills_at_random_moments_leave_the_old_or_the_new(kind, tmp_path):
    run("kills", kind, tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_of_several_writers_one_wins_whole(kind, tmp_path):
    run("race", kind, tmp_path)


# ---- a disk that is full -------------------------------------------------------------------------


class Numbers(tf.Module):
    def __init__(self, value, size):
        super().__init__()
        self.x = tf.Variable(tf.fill([size], float(value)))


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.fixture
def little_disk(tmp_path):
    """A file system of one megabyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m,nr_inodes=200", "mica-test", str(folder)]
    if not shutil.which("mount") or subprocess.run(mount, check=False).returncode:
        pytest.skip("file systems cannot be mounted by this user")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def write_checkpoint(folder, value, size):
    tf.train.Checkpoint(numbers=Numbers(value, size)).write(str(folder / "model"))


def read_checkpoint(folder, size):
    numbers = Numbers(-1, size)
    tf.train.Checkpoint(numbers=numbers).read(str(folder / "model")).assert_consumed()
    return float(numbers.x[-1])


def save_model(folder, value, size):
    tf.saved_model.save(Numbers(value, size), str(folder / "model"))


def load_model(folder, size):
    return float(tf.saved_model.load(str(folder / "model")).x[-1])


def save_with_a_manager(folder, value, size):
    checkpoint = tf.train.Checkpoint(numbers=Numbers(value, size))
    checkpoint.save_counter.assign(value - 1)
    tf.train.CheckpointManager(checkpoint, str(folder), 1).save()


def read_the_latest(folder, size):
    numbers = Numbers(-1, size)
    path = tf.train.latest_checkpoint(str(folder))
    tf.train.Checkpoint(numbers=numbers).restore(path).assert_existing_objects_matched()
    return float(numbers.x[-1])


def write_file(folder, value, size):
    _mica.tf_file_replace(str(folder / "model.txt"), str(value).encode() * 4 * size)


def read_file(folder, size):
    text = (folder / "model.txt").read_text(encoding="utf-8")
    assert text == text[0] * 4 * size
    return float(text[0])


def write_records(folder, value, size):
    with tf.io.TFRecordWriter(folder / "model.txt") as writer:
        for _ in range(4):
            writer.write(str(value).encode() * size)


def read_records(folder, size):
    found = [e.numpy() for e in tf.data.TFRecordDataset(str(folder / "model.txt"))]
    assert found == [found[0][:1] * size] * 4
    return float(found[0][:1])


def write_arrays(folder, value, size):
    mica.save(folder / "model.npz", {"x": mica.full((size,), float(value))})


def read_arrays(folder, size):
    x = mica.load(folder / "model.npz")["x"]
    assert x.shape == (size,)
    return float(x.numpy()[-1])


DISK = [
    (write_checkpoint, read_checkpoint),
    (save_model, load_model),
    (save_with_a_manager, read_the_latest),
    (write_file, read_file),
    (write_records, read_records),
    (write_arrays, read_arrays),
]
FULL = {write_arrays: OSError}  # Python's own error outside of mica.tf


@pytest.mark.parametrize(("write", "read"), DISK)
def test_a_full_disk_is_resource_exhausted_and_leaves_the_old_one(write, read, little_disk):
    write(little_disk, 1, 150_000)
    before = files(little_disk)
    with pytest.raises(FULL.get(write, tf.errors.ResourceExhaustedError), match="No space left"):
        write(little_disk, 2, 150_000)
    assert files(little_disk) == before and read(little_disk, 150_000) == 1.0
    shutil.rmtree(little_disk / "model", ignore_errors=True)
    for path in little_disk.glob("*"):
        path.unlink()
    write(little_disk, 3, 150_000)
    assert read(little_disk, 150_000) == 3.0


@pytest.mark.parametrize(("write", "read"), DISK)
def test_a_limit_of_files_is_resource_exhausted_and_leaves_the_old_one(write, read, tmp_path):
    write(tmp_path, 1, 10_000)
    before = files(tmp_path)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    try:
        error = FULL.get(write, tf.errors.ResourceExhaustedError)
        with pytest.raises(error, match="File too large"):
            write(tmp_path, 2, 10_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert files(tmp_path) == before and read(tmp_path, 10_000) == 1.0


@pytest.mark.parametrize(("write", "read"), DISK[:3])
def test_a_disk_without_room_for_names_is_resource_exhausted(write, read, little_disk):
    for i in range(10_000):
        try:
            (little_disk / f"other-{i}").touch()
        except OSError:
            break
    before = files(little_disk)
    with pytest.raises(tf.errors.ResourceExhaustedError, match="No space left"):
        write(little_disk / "deep" / "folder", 1, 10)
    assert files(little_disk) == before


CACHE_IS_FULL = """
import mica.tf as tf, pathlib, sys
disk = pathlib.Path(sys.argv[1])
try:
    with open(disk / "filler", "wb", buffering=0) as file:
        while file.write(bytes(4096)):
            pass
except OSError:
    pass
print(float(tf.function(lambda x: tf.reduce_sum(tf.sin(x) + 1.0))(tf.zeros([10]))))
print(sorted(path.name for path in (disk / "cache").iterdir()))
"""


def test_a_full_cache_of_compiled_code_is_a_warning_and_programs_run(little_disk):
    (little_disk / "cache").mkdir(mode=0o700)
    done = subprocess.run(
        [sys.executable, "-c", CACHE_IS_FULL, str(little_disk)],
        env=os.environ
        | {
            "MICA_CACHE": str(little_disk / "cache"),
            "MICA_TIER": "compiled",
            "MICA_LOG": "warning",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:2] == ["10.0", "[]"], done.stdout + done.stderr
    assert "No space left" in done.stderr


# ---- folders of models ---------------------------------------------------------------------------


def test_other_files_of_a_folder_stay_when_a_model_is_saved_there_again(tmp_path):
    save_model(tmp_path, 1, 10)
    (tmp_path / "model" / "notes.txt").write_text("mine", encoding="utf-8")
    (tmp_path / "model" / "assets.extra").mkdir()
    (tmp_path / "model" / "assets.extra" / "deep").write_text("deep", encoding="utf-8")
    save_model(tmp_path, 2, 10)
    assert (tmp_path / "model" / "notes.txt").read_text(encoding="utf-8") == "mine"
    assert (tmp_path / "model" / "assets.extra" / "deep").read_text(encoding="utf-8") == "deep"
    assert load_model(tmp_path, 10) == 2.0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model"]


def test_a_model_is_saved_in_the_folder_that_is_worked_in(tmp_path, monkeypatch):
    save_model(tmp_path, 1, 10)
    monkeypatch.chdir(tmp_path / "model")
    tf.saved_model.save(Numbers(2, 10), ".")
    assert load_model(tmp_path, 10) == 2.0
    assert sorted(path.name for path in (tmp_path / "model" / "variables").iterdir()) == [
        "variables.data-00000-of-00002",
        "variables.index",
    ]
