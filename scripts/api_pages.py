"""The reference pages of the site: C's from the headers, Python's from docstrings.

mkdocs calls `on_files` (mkdocs.yml names this file as a hook); `python scripts/api_pages.py` prints
the pages. Needs the built package.
"""

import importlib
import inspect
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FIRST = ["types.h", "status.h", "graph.h", "transform.h", "runtime.h", "nn.h", "arrays.h"]
TABLES = {"mica.h", "tf_ops.h", "mlc_names.h"}  # names alone
HEADERS = FIRST + sorted(
    name
    for path in (ROOT / "include" / "mica").rglob("*.h")
    if (name := path.relative_to(ROOT / "include" / "mica").as_posix()) not in {*FIRST, *TABLES}
)
MODULES = ["mica", "mica.nn", "mica.nn.losses", "mica.nn.initializers", "mica.optim", "mica.tree",
           "mica.data", "mica.random", "mica.linalg", "mica.fft", "mlcompute"]  # fmt: skip
COMMENT = re.compile(r"/\*(.*?)\*/", re.DOTALL)
# A comment, or nothing, before a declaration of the API; or a heading of a section.
PART = re.compile(
    r"/\* -+ (?P<section>[^-]+?) -+\*/"
    r"|(?P<comment>/\*(?:(?!\*/).)*\*/\s*)?(?P<declaration>MICA_API [^;{]*;)"
    r"(?P<after>[ \t]*/\*(?:(?!\*/).)*\*/)?",
    re.DOTALL,
)


def plain(comment: str) -> str:
    """The text of a comment, without its stars and annotations."""
    text = COMMENT.sub(lambda m: m[1], comment)
    lines = [re.sub(r"^ ?\* ?", "", line.rstrip()) for line in text.strip().splitlines()]
    return re.sub(r"@mlc [^\n]*(\n(?! *\n)[^\n]*)*", "", "\n".join(lines)).strip()


def escaped(text: str) -> str:
    """Markdown that shows the text as it is, paragraph by paragraph; indented parts are code."""
    shown = []
    for paragraph in re.split(r"\n\s*\n", text):
        if paragraph.startswith("    "):
            shown.append(paragraph)
        else:
            words = " ".join(paragraph.split())
            shown.append(re.sub(r"([\\`*_{}\[\]<>#|])", r"\\\1", words))
    return "\n\n".join(shown)


def header_page(name: str) -> list[str]:
    """A header: what it says of itself, then its functions with their comments."""
    text = (ROOT / "include" / "mica" / name).read_text(encoding="utf-8")
    first = COMMENT.match(text)
    lines = [f"## mica/{name}", ""]
    if first:
        about = plain(first[0])
        example = about.split("@example", 1)
        lines += [escaped(example[0]), ""]
        if len(example) > 1:
            lines += ["```c", inspect.cleandoc(example[1].split("@end")[0]), "```", ""]
    for part in PART.finditer(text, first.end() if first else 0):
        if part["section"]:
            lines += [f"### {part['section'].strip()}", ""]
            continue
        declaration = re.sub(r"\b(MICA_API|MICA_MUST_CHECK)\s+", "", part["declaration"])
        declaration = re.sub(r"\n\s+", "\n    ", declaration.strip())
        lines += ["```c", declaration, "```", ""]
        comment = "\n\n".join(filter(None, (plain(part[k] or "") for k in ("comment", "after"))))
        if comment:
            lines += [escaped(comment), ""]
    return lines


def c_page() -> str:
    """All headers."""
    lines = ["# The C API", "",
             "You want to know what a function of C does. This page is made from the headers in",
             "`include/mica`; [Train and serve from C](c.md) shows how they go together. Builders",
             "of primitives, `mica_<name>(g, ...)`, have the names and attributes of",
             "[the table](ops.md).", ""]  # fmt: skip
    for name in HEADERS:
        lines += header_page(name)
    return "\n".join(lines) + "\n"


def code_of(docstring: str) -> str:
    """A docstring as text: numpy's headings and tables of parameters stay as they are."""
    return "\n".join("    " + line if line else "" for line in docstring.splitlines())


def signature_of(value: object) -> str:
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return "(...)"
    plain_parameters = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    return str(inspect.Signature(plain_parameters))


def entry(owner: str, name: str, value: object, level: int) -> list[str]:
    text = inspect.getdoc(value) or ""
    if not callable(value) or inspect.ismodule(value) or not text:
        return []
    lines = [f"{'#' * level} `{owner}.{name}`", ""]
    shown = f"{name}{signature_of(value)}"
    if not text.startswith(f"{name}("):
        lines += [code_of(shown), ""]
    return [*lines, code_of(text), ""]


def module_page(name: str) -> list[str]:
    """What a module has, by name; primitives are in the table."""
    module = importlib.import_module(name)
    primitives = {row["name"] for row in importlib.import_module("mica").ops()}
    names = getattr(module, "__all__", None) or [
        n for n, v in vars(module).items()
        if not n.startswith("_") and getattr(v, "__module__", "").startswith("mica")
    ]  # fmt: skip
    about = (inspect.getdoc(module) or "").split("Examples\n")[0]
    lines = [f"## {name}", "", code_of(about), ""]
    for each in sorted(set(names)):
        if name == "mica" and each.rstrip("_") in primitives and each.endswith("_"):
            continue
        lines += entry(name, each, getattr(module, each), 3)
    return lines


def python_page() -> str:
    """All modules."""
    lines = ["# The Python API", "",
             "You want to know what a function or class of Python does. This page is made from",
             "docstrings. [The table](ops.md) has the primitives, functions of `mica` too;",
             "[TensorFlow's names](tensorflow.md) those of `mica.tf`.", ""]  # fmt: skip
    for name in MODULES:
        lines += module_page(name)
    return "\n".join(lines) + "\n"


PAGES = {"api_c.md": c_page, "api_python.md": python_page}


def on_files(files, config):
    """Hook of mkdocs: adds the pages."""
    from mkdocs.structure.files import File  # only mkdocs needs it

    for name, make in PAGES.items():
        files.append(File.generated(config, name, content=make()))
    return files


if __name__ == "__main__":
    for page in PAGES.values():
        sys.stdout.write(page())
