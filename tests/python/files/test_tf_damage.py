"""Files that are damaged: what comes out is an error that is promised, and memory stays bounded."""

import os
import subprocess
import sys
from pathlib import Path

import mica.tf as tf
import pytest
from mica.tf._reading import check_references, reading
from mica.tf.saved_model._messages import TrackableObject, TrackableObjectGraph

KINDS = {"saved_model": 120, "variables": 60, "index": 60, "checkpoint": 60, "lite": 100}


@pytest.mark.skipif(sys.platform != "linux", reason="memory is bounded by RLIMIT_AS")
@pytest.mark.parametrize("kind", KINDS)
def test_changed_files_are_read_or_refused_with_what_is_promised(kind, tmp_path):
    driver = Path(__file__).with_name("file_damage.py")
    rounds = 10_000 if os.environ.get("MICA_TEST_SOAK") else KINDS[kind]
    seed = os.environ.get("MICA_TEST_SEED", "16")
    done = subprocess.run(
        [sys.executable, str(driver), kind, str(tmp_path), seed, str(rounds)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{rounds} changed files" in done.stdout
    print(done.stdout)


def raised(error):
    with pytest.raises(Exception) as found, reading("/some/file"):
        raise error
    return found.value


@pytest.mark.parametrize(
    "error",
    [KeyError("a"), IndexError("a"), TypeError("a"), AttributeError("a"), RecursionError("a")],
    ids=repr,
)
def test_what_does_not_fit_is_data_loss_and_names_the_file(error):
    found = raised(error)
    assert isinstance(found, tf.errors.DataLossError)
    assert "/some/file" in str(found)
    assert type(error).__name__ in str(found)


def test_an_end_of_memory_is_resource_exhausted():
    assert isinstance(raised(MemoryError()), tf.errors.ResourceExhaustedError)


@pytest.mark.parametrize(
    "error",
    [ValueError("a"), NotImplementedError("a"), tf.errors.NotFoundError(None, None, "a")],
    ids=repr,
)
def test_errors_that_say_what_is_wrong_stay_and_name_the_file(error):
    found = raised(error)
    assert type(found) is type(error)
    assert "/some/file: a" in str(found)


def test_errors_that_name_the_file_stay():
    for error in (OSError("a"), tf.errors.NotFoundError(None, None, "/some/file has gone")):
        assert raised(error) is error


@pytest.mark.parametrize("number", [-1, 1, 2**40])
def test_an_object_that_is_not_there_is_data_loss(number):
    objects = TrackableObjectGraph(nodes=[TrackableObject()])
    objects.nodes[0].children.add(node_id=number, local_name="layer")
    with pytest.raises(tf.errors.DataLossError, match=f"holds the object {number} as 'layer'"):
        check_references(objects.nodes, "/some/file")


def test_a_folder_whose_state_is_no_text_has_no_checkpoint(tmp_path):
    (tmp_path / "checkpoint").write_bytes(b"model_checkpoint_path: \xff\xfe")
    with pytest.warns(UserWarning, match="Checkpoint ignored"):
        assert tf.train.latest_checkpoint(str(tmp_path)) is None
    (tmp_path / "checkpoint").write_text("all_model_checkpoint_timestamps: 1e\n")
    with pytest.warns(UserWarning, match="Checkpoint ignored"):
        assert tf.train.get_checkpoint_state(str(tmp_path)) is None


def test_a_tensor_that_a_checkpoint_does_not_have_is_not_found(tmp_path):
    path = tf.train.Checkpoint(x=tf.Variable(1.0)).write(str(tmp_path / "model"))
    with pytest.raises(tf.errors.NotFoundError, match="Key y not found in checkpoint"):
        tf.train.load_variable(path, "y")
