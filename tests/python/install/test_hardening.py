"""What is shipped is hardened: read from the files that this process runs, and from the program."""

import ctypes
import struct
import sys
from pathlib import Path

import mica
import mlcompute
import pytest
from house import BUILD

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads ELF files")

PT_LOAD, PT_DYNAMIC, PT_STACK, PT_RELRO = 1, 2, 0x6474E551, 0x6474E552
DT_STRTAB, DT_STRSZ, DT_BIND_NOW, DT_FLAGS, DT_FLAGS_1 = 5, 10, 24, 30, 0x6FFFFFFB


class Elf:
    """Program headers, the dynamic section and the names of dynamic symbols of a 64-bit file."""

    def __init__(self, path: Path) -> None:
        self.data = data = path.read_bytes()
        assert data[:6] == b"\x7fELF\x02\x01", f"{path} is no 64-bit little-endian ELF file"
        self.type = struct.unpack_from("<H", data, 16)[0]
        (start,) = struct.unpack_from("<Q", data, 32)
        size, count = struct.unpack_from("<HH", data, 54)
        places = range(start, start + size * count, size)
        self.headers = [struct.unpack_from("<IIQQQQQQ", data, place) for place in places]
        self.dynamic = dict(self.entries())

    def header(self, kind: int):
        found = [each for each in self.headers if each[0] == kind]
        return found[0] if found else None

    def entries(self):
        _, _, offset, _, _, size, _, _ = self.header(PT_DYNAMIC)
        yield from struct.iter_unpack("<QQ", self.data[offset : offset + size])

    def symbols(self) -> set[str]:
        """Names that the file defines or asks for."""
        address, size = self.dynamic[DT_STRTAB], self.dynamic[DT_STRSZ]
        for kind, _, offset, virtual, _, n, _, _ in self.headers:
            if kind == PT_LOAD and virtual <= address < virtual + n:
                text = self.data[offset + address - virtual :][:size]
                return {name.decode() for name in text.split(b"\0")}
        raise AssertionError("no segment holds the names of symbols")


def library() -> Path:
    """The library that is loaded."""
    maps = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    return Path(next(line.split()[-1] for line in maps if "/libmica.so" in line))


def program() -> Path:
    inside = Path(mica.__file__).parent / "bin/mica"
    return inside if inside.exists() else BUILD / "bin/mica"


FILES = {
    "library": library,
    "extension": lambda: Path(mica._mica.__file__),
    "mlcompute's extension": lambda: Path(mlcompute._mlcompute.__file__),
    "program": program,
}


@pytest.fixture(params=FILES)
def elf(request):
    return Elf(FILES[request.param]())


def test_no_table_of_addresses_can_be_written_after_start_up(elf):
    assert elf.header(PT_RELRO)
    assert DT_BIND_NOW in elf.dynamic or elf.dynamic.get(DT_FLAGS, 0) & 8
    assert elf.dynamic.get(DT_FLAGS_1, 0) & 1


def test_no_page_can_be_written_and_run(elf):
    assert elf.header(PT_STACK)[1] & 1 == 0
    assert not [each for each in elf.headers if each[0] == PT_LOAD and each[1] & 3 == 3]


def test_it_is_loaded_anywhere(elf):
    assert elf.type == 3


def test_arrays_on_the_stack_are_guarded(elf):
    assert "__stack_chk_fail" in elf.symbols()


def glibc() -> bool:
    return hasattr(ctypes.CDLL(None), "gnu_get_libc_version")


@pytest.mark.skipif(not glibc(), reason="checked copies are glibc's")
@pytest.mark.parametrize("name", ["library", "program"])
def test_copies_check_the_sizes_that_are_known(name):
    checked = {each for each in Elf(FILES[name]()).symbols() if each.endswith("_chk")}
    assert {"__snprintf_chk", "__vsnprintf_chk"} <= checked if name == "library" else checked
