"""Reads ML Compute's headers: enumerations, structs, functions, and what each stands for."""

import re
from dataclasses import dataclass, field
from pathlib import Path

HEADERS = ("mlc_types.h", "mlc_tensor.h", "mlc_descriptors.h", "mlc_layers.h", "mlc.h")
WORDS = {
    "ReLU": "Relu", "MatMul": "Matmul", "AdamW": "Adamw", "RMSProp": "Rmsprop", "SGD": "Sgd",
    "LSTM": "Lstm", "YOLO": "Yolo", "AMSGrad": "Amsgrad", "IOU": "Iou", "RNG": "Rng",
    "DOT": "Dot", "GPU": "Gpu", "ANE": "Ane", "CPU": "Cpu", "ID": "Id", "MLC": "",
}  # fmt: skip


@dataclass
class Member:
    """One member of the original: its class and .property, +method, -method or value."""

    owner: str
    name: str  # empty: the class itself


@dataclass
class Enumeration:
    name: str
    values: dict[str, int] = field(default_factory=dict)  # C name -> number
    originals: dict[str, str] = field(default_factory=dict)  # C name -> the original's
    original: str = ""


@dataclass
class Parameter:
    type: str
    name: str


@dataclass
class Struct:
    name: str
    original: str
    fields: list[tuple[Parameter, str, str]] = field(default_factory=list)  # its .property, text


@dataclass
class Function:
    name: str
    type: str
    parameters: list[Parameter]
    text: str
    members: list[Member]


@dataclass
class Headers:
    enumerations: dict[str, Enumeration] = field(default_factory=dict)
    structs: dict[str, Struct] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)
    classes: dict[str, str] = field(default_factory=dict)  # the original's name -> C's, or ""


def snake(name: str) -> str:
    """tensorID -> tensor_id, MLCMatMulLayer -> matmul_layer."""
    for word, plain in WORDS.items():
        name = name.replace(word, plain)
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def comment_text(comment: str) -> str:
    """The words of C comments."""
    text = re.sub(r"/\*+|\*+/", " ", comment)
    return re.sub(r"\s+", " ", re.sub(r"^\s*\*", " ", text, flags=re.MULTILINE)).strip()


def members_of(comment: str) -> list[Member]:
    """What a comment's @mlc annotations name."""
    found = []
    for annotation in comment_text(comment).split("@mlc ")[1:]:
        owner, *names = annotation.split()
        found += [Member(owner, name) for name in names] or [Member(owner, "")]
    return found


def plain_text(comment: str) -> str:
    """A comment without its annotations."""
    return comment_text(comment).split("@mlc ")[0].strip()


def split_parameter(text: str) -> Parameter:
    type_, name = re.fullmatch(r"(.*?)(\w+)", text.strip(), re.DOTALL).groups()
    return Parameter(re.sub(r"\s+", " ", type_).replace("* ", "*").strip(), name)


COMMENT = r"/\*(?:[^*]|\*(?!/))*\*/"


def read_enumerations(text: str, headers: Headers) -> None:
    for body, name in re.findall(r"typedef enum \w+ \{(.*?)\} (\w+);", text, re.DOTALL):
        before = text[: text.index(f"typedef enum {name} {{")].rstrip()
        found = Enumeration(name)
        last = re.findall(COMMENT, before)[-1] if before.endswith("*/") else ""
        owners = members_of(last)
        found.original = owners[0].owner if owners else ""
        number, pending = -1, []
        # The values' comments stand before them, or after them on their line.
        pieces = rf"({COMMENT})|(MLC_\w+)(?:\s*=\s*(\w+))?,?([^\S\n]*{COMMENT})?"
        for piece in re.finditer(pieces, body):
            if piece[1]:
                pending = members_of(piece[1])
                continue
            number = int(piece[3], 0) if piece[3] else number + 1
            if piece[2].endswith("_KINDS"):
                continue
            found.values[piece[2]] = number
            for member in pending + (members_of(piece[4]) if piece[4] else []):
                found.originals[piece[2]] = member.name
            pending = []
        headers.enumerations[name] = found


def read_structs(text: str, headers: Headers) -> None:
    for body, name in re.findall(
        r"typedef struct \w+ \{([^}]*)\} (mlc_\w+_descriptor);", text, re.DOTALL
    ):
        found = Struct(name, "")
        pending = ""
        for piece in re.finditer(rf"({COMMENT})|([\w][\w *]*);([^\S\n]*{COMMENT})?", body):
            if piece[1]:
                pending = piece[1]
                continue
            comment = piece[3] or pending
            pending = ""
            for member in members_of(comment):
                found.original = member.owner
                parameter = split_parameter(piece[2])
                found.fields.append((parameter, member.name, plain_text(comment)))
        headers.structs[name] = found


def read_functions(text: str, headers: Headers) -> None:
    declaration = rf"({COMMENT}\s*)?MICA_API\s+(?:MICA_MUST_CHECK\s+)?([^;]*?)\s*;"
    for comment, body in re.findall(declaration, text):
        match = re.fullmatch(r"(.*?)(\w+)\((.*)\)", re.sub(r"\s+", " ", body), re.DOTALL)
        type_, name, inside = match.groups()
        if "(*" in inside:  # a callback: bound by hand
            parameters = [Parameter("callback", "callback")]
        elif inside == "void":
            parameters = []
        else:
            parameters = [split_parameter(part) for part in inside.split(",")]
        headers.functions[name] = Function(
            name, type_.strip().replace("* ", "*"), parameters, plain_text(comment),
            members_of(comment),
        )  # fmt: skip


def read(folder: Path) -> Headers:
    """Everything that the headers of a folder say."""
    headers = Headers()
    for name in HEADERS:
        text = (folder / name).read_text(encoding="utf-8")
        text = text[text.index("#ifndef") :]
        read_enumerations(text, headers)
        read_structs(text, headers)
        read_functions(text, headers)
        for comment in re.findall(COMMENT, text):
            for member in members_of(comment):
                headers.classes.setdefault(member.owner, "")
        for type_, comment in re.findall(rf"typedef struct \w+ (\w+);[^\S\n]*({COMMENT})", text):
            for member in members_of(comment):
                headers.classes[member.owner] = type_
    return headers


def short_names(enumeration: Enumeration) -> dict[str, int]:
    """The values' names without the words of the enumeration's name that all begin with."""
    words = [name.split("_") for name in enumeration.values]
    shared = 0
    own = enumeration.name.upper().split("_")
    while words[0][shared] in own and all(
        len(w) > shared + 1 and w[shared] == words[0][shared] for w in words
    ):
        shared += 1
    names = ["_".join(w[shared:]) for w in words]
    return dict(zip(names, enumeration.values.values(), strict=True))
