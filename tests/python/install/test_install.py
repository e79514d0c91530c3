"""`cmake --install` fills a prefix that C programs find with pkg-config and with find_package."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from documents import program
from house import BUILD, ROOT, compiler, run

VERSION = re.search(r"project\(mica VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
MINOR = ".".join(VERSION.split(".")[:2])
LIBRARY = "libmica.dylib" if sys.platform == "darwin" else "libmica.so"
GRADIENT = "0.0000 0.6397 0.1362\n"
PROJECT = """
cmake_minimum_required(VERSION 3.20)
project(example LANGUAGES C)
find_package(mica {version} REQUIRED)
add_executable(example example.c)
target_link_libraries(example PRIVATE mica::mica)
"""

pytestmark = [
    pytest.mark.skipif(not (BUILD / LIBRARY).exists(), reason=f"{LIBRARY} has not been built"),
    pytest.mark.skipif(not shutil.which("cmake"), reason="cmake was not found"),
    pytest.mark.skipif(not compiler(), reason="no C compiler was found"),
]
needs_pkg_config = pytest.mark.skipif(
    not shutil.which("pkg-config"), reason="pkg-config was not found"
)
needs_readelf = pytest.mark.skipif(not shutil.which("readelf"), reason="readelf was not found")


def install(prefix, **environment):
    command = ["cmake", "--install", BUILD, "--prefix", prefix]
    result = run(*command, env={**os.environ, **environment})
    assert result.returncode == 0, result.stderr


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """An installed tree that was moved after it was installed."""
    folder = tmp_path_factory.mktemp("installed")
    install(folder / "first")
    shutil.move(folder / "first", folder / "moved")
    return folder / "moved"


def pkg_config(prefix, *arguments) -> list[str]:
    (file,) = prefix.rglob("mica.pc")
    variables = {**os.environ, "PKG_CONFIG_PATH": str(file.parent)}
    result = run("pkg-config", *arguments, "mica", env=variables)
    assert result.returncode == 0, result.stderr
    return result.stdout.split()


def write_example(folder, text=None):
    text = text or program(ROOT / "README.md", "example.c")
    (folder / "example.c").write_text(text, encoding="utf-8")
    return folder / "example.c"


def compile_with_pkg_config(prefix, folder, text=None) -> str:
    source, program = write_example(folder, text), folder / "example"
    (libdir,) = pkg_config(prefix, "--variable=libdir")
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", *pkg_config(prefix, "--cflags")]
    links = [*pkg_config(prefix, "--libs"), f"-Wl,-rpath,{libdir}"]
    result = run(*compiler(), *flags, source, "-o", program, *links)
    assert result.returncode == 0, result.stderr
    result = run(program)
    assert result.returncode == 0, result.stderr
    return result.stdout


@needs_pkg_config
def test_the_readme_s_program_compiles_with_pkg_config(prefix, tmp_path):
    assert compile_with_pkg_config(prefix, tmp_path) == GRADIENT
    flags = " ".join(pkg_config(prefix, "--cflags", "--libs"))
    assert str(prefix) in flags and str(ROOT) not in flags


def configure(prefix, folder, version) -> subprocess.CompletedProcess:
    (folder / "CMakeLists.txt").write_text(PROJECT.format(version=version), encoding="utf-8")
    where = f"-DCMAKE_PREFIX_PATH={prefix}"
    return run("cmake", "-S", folder, "-B", folder / "build", where)


def test_the_readme_s_program_compiles_with_find_package(prefix, tmp_path):
    write_example(tmp_path)
    result = configure(prefix, tmp_path, MINOR)
    assert result.returncode == 0, result.stderr
    result = run("cmake", "--build", tmp_path / "build", "--verbose")
    assert result.returncode == 0, result.stdout
    assert str(prefix / "include") in result.stdout and str(ROOT) not in result.stdout
    assert run(tmp_path / "build/example").stdout == GRADIENT


def test_find_package_takes_no_other_minor_version(prefix, tmp_path):
    write_example(tmp_path)
    major, minor = MINOR.split(".")
    result = configure(prefix, tmp_path, f"{major}.{int(minor) + 1}")
    assert result.returncode != 0 and "mica" in result.stderr and VERSION in result.stderr


VERSIONS = """
#include <mica/mica.h>
#include <stdio.h>
#if !MICA_VERSION_AT_LEAST(0, 0, 9)
#error "MICA_VERSION_AT_LEAST"
#endif
#if MICA_VERSION_AT_LEAST(MICA_VERSION_MAJOR, MICA_VERSION_MINOR + 1, 0)
#error "MICA_VERSION_AT_LEAST"
#endif
int main(void) {
    printf("%d.%d.%d\\n%s\\n%s\\n", MICA_VERSION_MAJOR, MICA_VERSION_MINOR, MICA_VERSION_PATCH,
           MICA_VERSION_STRING, mica_version());
    return 0;
}
"""


@needs_pkg_config
def test_headers_library_and_mica_pc_name_one_version(prefix, tmp_path):
    assert compile_with_pkg_config(prefix, tmp_path, VERSIONS).split() == [VERSION] * 3
    assert pkg_config(prefix, "--modversion") == [VERSION]


@needs_readelf
def test_the_loader_knows_the_library_by_its_abi(prefix):
    (library,) = prefix.rglob("libmica.so")
    assert library.is_symlink() and library.resolve().name == f"libmica.so.{VERSION}"
    assert (library.parent / f"libmica.so.{MINOR}").resolve() == library.resolve()
    dynamic = run("readelf", "-d", library).stdout
    assert f"soname: [libmica.so.{MINOR}]" in dynamic
    assert "RUNPATH" not in dynamic and "RPATH" not in dynamic


def test_the_headers_are_all_there_and_the_program_runs(prefix):
    installed = {path.name for path in (prefix / "include/mica").iterdir()}
    assert installed == {path.name for path in (ROOT / "include/mica").iterdir()}
    if (BUILD / "bin/mica").exists():
        result = run(prefix / "bin/mica", "devices")
        assert result.returncode == 0 and "cpu" in result.stdout
        assert (prefix / "share/man/man1/mica.1").is_file()


@needs_pkg_config
def test_a_staged_install_names_the_final_prefix_nowhere(tmp_path):
    install("/opt/somewhere", DESTDIR=str(tmp_path / "stage"))
    staged = tmp_path / "stage/opt/somewhere"
    assert compile_with_pkg_config(staged, tmp_path) == GRADIENT
    for file in (*staged.rglob("*.pc"), *staged.rglob("*.cmake")):
        text = file.read_text(encoding="utf-8")
        assert str(tmp_path) not in text and str(ROOT) not in text and "/opt" not in text, file
