"""Layers are folders, and includes go down only."""

import re

import pytest
from house import ROOT, sources

# A room may include the rooms below it and itself. report, which all may tell what they
# do, and text know base alone. dist, transform and compile are side by
# side; nn and tf see base and include/ alone, and mlc these and the scalar mathematics.
LEVELS = {
    "base": 0,
    "report": 1,
    "text": 1,
    "nn": 2,
    "ir": 2,
    "dist": 3,
    "transform": 3,
    "codegen": 3,
    "mlc": 3,
    "tf": 3,
    "data": 3,
    "io": 3,
    "compile": 4,
    "runtime": 5,
    "device": 6,
}

# What both extensions of Python do at their entry.
SHARED = {"python/_mlcompute": {"../_mica/entry.h"}}

# Rooms that see include/ alone.
OUTSIDE = ["src/cli", "python/_mica", "python/_mlcompute", "examples"]

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
CONDITION = re.compile(r"^\s*#\s*(?:if|ifdef|ifndef|elif)\b(.*)$", re.MULTILINE)
DEVICE = re.compile(r"CUDA|NVRTC|NVCC|CUDNN|CUBLAS|OPENCL|METAL|ROCM|HIP_", re.IGNORECASE)

# Headers whose text is also handed to the CUDA compiler choose their dialect by themselves.
DIALECT_HEADERS = {"src/ir/scalar.h", "src/codegen/prelude/kernel.h"}


def includes(path):
    return INCLUDE.findall(path.read_text(encoding="utf-8"))


def room_files():
    return [
        path
        for path in sources("src/**/*.[ch]")
        if path.relative_to(ROOT).parts[1] in LEVELS and len(path.relative_to(ROOT).parts) > 2
    ]


def test_every_folder_of_src_is_a_known_room():
    folders = {path.name for path in (ROOT / "src").iterdir() if path.is_dir()}
    assert folders <= set(LEVELS) | {"cli"}


def goes_up(room: str, included: str) -> bool:
    """Whether a file of the room may not include this."""
    first = included.split("/")[0]
    if "/" not in included or first == "mica":
        return False
    if first not in LEVELS:
        return True
    return first != room and LEVELS[first] >= LEVELS[room]


def test_no_include_goes_up():
    wrong = [
        f"{path.relative_to(ROOT)} includes {included}"
        for path in room_files()
        for included in includes(path)
        if goes_up(path.relative_to(ROOT).parts[1], included)
    ]
    assert not wrong


def test_mlc_stands_on_the_public_headers():
    for path in sources("src/mlc/*.[ch]"):
        for included in includes(path):
            assert included.startswith(("mica/", "base/", "mlc/")) or included == "ir/scalar.h", (
                f"{path.name} includes {included}"
            )


def test_tf_stands_on_the_public_headers():
    for path in sources("src/tf/**/*.[ch]"):
        for included in includes(path):
            assert included.startswith(("mica/", "base/", "report/", "text/", "tf/")), (
                f"{path.name} includes {included}"
            )


def test_the_check_itself_sees_an_include_that_goes_up():
    assert goes_up("base", "ir/graph.h")
    assert goes_up("ir", "runtime/device.h")
    assert goes_up("transform", "compile/passes.h")
    assert goes_up("runtime", "../device/cpu/kernels.h")
    assert not goes_up("device", "runtime/device.h")
    assert not goes_up("ir", "base/status.h")
    assert not goes_up("ir", "mica/graph.h")


def test_no_include_walks_out_of_its_folder():
    wrong = [
        f"{path.relative_to(ROOT)} includes {included}"
        for path in sources("src/**/*.[ch]", "include/**/*.h", "python/_mica/*.[ch]")
        for included in includes(path)
        if ".." in included.split("/")
    ]
    assert not wrong


def test_public_headers_include_public_headers_only():
    for path in sources("include/mica/*.h"):
        for included in includes(path):
            assert (path.parent / included).is_file(), f"{path.name} includes {included}"


@pytest.mark.parametrize("folder", OUTSIDE)
def test_rooms_outside_see_the_public_headers_alone(folder):
    for path in sources(f"{folder}/**/*.[ch]"):
        for included in includes(path):
            own = (path.parent / included).is_file() and "/" not in included
            own |= included in SHARED.get(folder, ())
            assert own or included.startswith("mica/"), (
                f"{path.relative_to(ROOT)} includes {included}"
            )


def test_no_device_is_spoken_of_by_the_preprocessor_outside_device():
    wrong = [
        f"{path.relative_to(ROOT)}: {condition.strip()}"
        for path in sources("src/**/*.[ch]", "include/**/*.h", "python/_mica/*.[ch]")
        if not path.is_relative_to(ROOT / "src/device")
        and str(path.relative_to(ROOT)) not in DIALECT_HEADERS
        for condition in CONDITION.findall(path.read_text(encoding="utf-8"))
        if DEVICE.search(condition)
    ]
    assert not wrong
