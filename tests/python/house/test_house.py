"""Rules of the source tree: sizes, silence, exported names, headers that are manuals."""

import os
import re
import shutil
import sys
import textwrap

import pytest
from house import BUILD, ROOT, compiler, run, sources

CODE = ("src/**/*.[ch]", "include/**/*.*", "tests/**/*.[ch]", "examples/**/*.[ch]", "**/*.py")
EXAMPLE = re.compile(r"^ \* @example\n(.*?)^ \* @end$", re.MULTILINE | re.DOTALL)
HEADERS = sources("include/mica/*.h", "include/mica/*/*.h")
LIBRARY = BUILD / ("libmica.dylib" if sys.platform == "darwin" else "libmica.so")


def test_no_source_file_is_longer_than_1500_lines():
    lengths = {
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8").count("\n")
        for path in sources(*CODE, "python/_mica/*.[ch]")
    }
    assert len(lengths) > 20
    assert not {name: n for name, n in lengths.items() if n > 1500}


def without_comments_and_strings(text: str) -> str:
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', " ", text, flags=re.DOTALL)


def test_the_library_never_prints_aborts_or_exits():
    forbidden = re.compile(r"\b(v?f?printf|f?puts|f?putc|putchar|perror|abort|_?exit|_Exit)\s*\(")
    wrong = [
        f"{path.relative_to(ROOT)}: {match.group(0)}"
        for path in sources("src/**/*.[ch]")
        if not path.is_relative_to(ROOT / "src/cli")
        for match in forbidden.finditer(
            without_comments_and_strings(path.read_text(encoding="utf-8"))
        )
    ]
    assert not wrong


def test_memory_comes_from_the_counting_allocator_alone():
    forbidden = re.compile(r"(?<![\w.>])(malloc|calloc|realloc|free|strdup|posix_memalign)\s*\(")
    wrong = [
        f"{path.relative_to(ROOT)}: {match.group(0)}"
        for path in sources("src/**/*.[ch]")
        if not path.is_relative_to(ROOT / "src/cli") and path.name != "memory.c"
        for match in forbidden.finditer(
            without_comments_and_strings(path.read_text(encoding="utf-8"))
        )
    ]
    assert not wrong


@pytest.mark.skipif(not LIBRARY.exists(), reason=f"{LIBRARY} has not been built")
@pytest.mark.skipif(not shutil.which("nm"), reason="nm was not found")
def test_the_library_exports_the_names_on_the_list_and_no_others():
    listed = (ROOT / "src/exports.txt").read_text(encoding="utf-8").split()
    exported = run(ROOT / "scripts/exports.sh", BUILD).stdout.split()
    assert exported, "no names were found"
    hint = "if this is meant, run `make exports`"
    assert sorted(set(exported) - set(listed)) == [], hint
    assert sorted(set(listed) - set(exported)) == [], hint
    assert all(name.startswith(("mica_", "mlc_")) for name in exported)


@pytest.mark.skipif(not LIBRARY.exists(), reason=f"{LIBRARY} has not been built")
@pytest.mark.skipif(not shutil.which("strip"), reason="strip was not found")
def test_the_stripped_library_is_smaller_than_eight_megabytes(tmp_path):
    stripped = tmp_path / LIBRARY.name
    assert run("strip", "-x", "-o", stripped, LIBRARY).returncode == 0
    size = stripped.stat().st_size
    print(f"{LIBRARY.name}: {size} bytes stripped")
    assert size < 8_000_000


@pytest.mark.skipif(not compiler(), reason="no C compiler was found")
@pytest.mark.parametrize("header", HEADERS, ids=lambda path: path.name)
@pytest.mark.parametrize("language", ["c11", "c++17"])
def test_a_public_header_compiles_alone(header, language, tmp_path):
    command, suffix = compiler(), ".c"
    if language == "c++17":
        command, suffix = [os.environ.get("CXX", "c++")], ".cc"
        if not shutil.which(command[0]):
            pytest.skip("no C++ compiler was found")
    source = tmp_path / f"alone{suffix}"
    source.write_text(
        f"#include <mica/{header.relative_to(ROOT / 'include/mica')}>\n", encoding="utf-8"
    )
    flags = [f"-std={language}", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
    result = run(*command, *flags, f"-I{ROOT / 'include'}", source)
    assert result.returncode == 0, result.stderr


def examples() -> list:
    found = []
    for header in HEADERS:
        for i, match in enumerate(EXAMPLE.finditer(header.read_text(encoding="utf-8"))):
            lines = [line[3:] for line in match.group(1).splitlines()]
            found.append(pytest.param("\n".join(lines), id=f"{header.name}-{i}"))
    return found


def test_most_public_headers_carry_an_example():
    assert len(examples()) >= 4


PROGRAM = """\
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;
void look_and_release(mica_status status) {{
    if (status) failures++, fprintf(stderr, "%s\\n", mica_status_message(status));
    mica_status_release(status);
}}
#define mica_status_release look_and_release

static void example(void) {{
{body}
}}

int main(void) {{
    example();
    mica_shutdown();
    return failures != 0;
}}
"""


@pytest.mark.skipif(not LIBRARY.exists(), reason=f"{LIBRARY} has not been built")
@pytest.mark.skipif(not compiler(), reason="no C compiler was found")
@pytest.mark.parametrize("example", examples())
def test_the_example_of_a_header_compiles_and_runs(example, tmp_path):
    source, program = tmp_path / "example.c", tmp_path / "example"
    body = textwrap.dedent(example)
    if "mica_status status" in body and "mica_status_release" not in body:
        body += "\nmica_status_release(status);"
    source.write_text(PROGRAM.format(body=textwrap.indent(body, "    ")), encoding="utf-8")
    compile_and_run(source, program)


def compile_and_run(source, program):
    result = run(
        *compiler(),
        *("-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}"),
        *(source, "-o", program, f"-L{BUILD}", f"-Wl,-rpath,{BUILD}", "-lmica", "-lm"),
    )
    assert result.returncode == 0, result.stderr
    result = run(program)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    return result.stdout
