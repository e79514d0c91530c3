"""What Keras' own tests need of pytest: its markers, and a journal of what became of each test.

Keras' wheel has its tests but not the conftest.py that they import. This module takes its place; it
is loaded by name (`pytest -p conftest`), with this folder on the path. KERAS_TESTS_JOURNAL names
the file to which it adds a line per event, a JSON list: ["collected", id], ["start", id],
["passed" | "failed" | "skipped", id, seconds, message]. KERAS_TESTS_IDS, when set, names a file of
ids, one a line: only these run.
"""

import json
import os

import pytest

JOURNAL = open(os.environ["KERAS_TESTS_JOURNAL"], "a", encoding="utf-8", buffering=1)


def note(*event):
    JOURNAL.write(json.dumps(event) + "\n")


def skip_if_backend(backend, reason):
    """A decorator: the test is skipped where Keras' backend is the one named."""
    import keras  # it is loaded after the backend was chosen

    return pytest.mark.skipif(keras.backend.backend() == backend, reason=reason)


def pytest_configure(config):
    config.addinivalue_line("markers", "requires_trainable_backend: the test trains")
    config.addinivalue_line("markers", "multi_device: the test wants several devices of JAX")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    names = os.environ.get("KERAS_TESTS_IDS")
    if names:
        with open(names, encoding="utf-8") as stream:
            wanted = set(stream.read().split("\n"))
        left_out = [item for item in items if item.nodeid not in wanted]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item.nodeid in wanted]
    for item in items:
        note("collected", item.nodeid)
        if item.get_closest_marker("multi_device"):
            item.add_marker(pytest.mark.skip(reason="several devices of JAX"))


def pytest_collectreport(report):
    if report.failed:
        note("failed", report.nodeid, 0.0, message_of(report))


def message_of(report):
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is None:
        return str(report.longrepr)[-600:]
    return f"{os.path.basename(crash.path)}:{crash.lineno}: {crash.message[:600]}"


def pytest_runtest_logstart(nodeid, location):
    note("start", nodeid)


STATES = {}  # id: the outcome so far and its message


def pytest_runtest_logreport(report):
    outcome, seconds, message = STATES.get(report.nodeid, ("passed", 0.0, ""))
    if report.failed:
        outcome, message = "failed", message or message_of(report)
    elif report.skipped and outcome != "failed":
        outcome, message = "skipped", str(report.longrepr)[-200:]
    STATES[report.nodeid] = (outcome, seconds + report.duration, message)
    if report.when == "teardown":
        outcome, seconds, message = STATES.pop(report.nodeid)
        note(outcome, report.nodeid, round(seconds, 2), message)
