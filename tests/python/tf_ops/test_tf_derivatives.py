"""Derivatives of every row of the op table: first and second order, forward mode, vectorized_map.

A row is differentiable when a floating input has the role d. Inputs that could carry a gradient and
do not are in src/tf/none.md with the reason.
"""

import re
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from house import ROOT

sys.path.insert(0, str(ROOT / "tests" / "tf"))
from row_cases import ROW_CASES, RowCase

tf = pytest.importorskip("mica.tf")

STEP = 1e-5  # of finite differences
SINGLE_STEP = 5e-3  # of rows that are of float32 alone
SINGLE = 2e4  # how much more they may be off
WEIGHTS = 7  # of cotangents, 8 of tangents, 9 of directions: the seeds of their numbers
TANGENTS = 8

# Roles l and b are those inputs with role d whose own derivative does not depend on them.
DIFFERENTIABLE = str.maketrans("lb", "dd")


@dataclass
class Row:
    inputs: dict[str, str]  # name: type
    outputs: dict[str, str]
    kinds: dict[str, str]  # of the attributes that are types
    roles: dict[str, str]  # by input
    family: str


def arguments_of(text: str) -> dict[str, str]:
    pairs = [each.split(":") for each in text.split(", ") if each]
    return {name.strip(): kind.split("*")[-1].strip() for name, kind in pairs}


def rows_of_the_table() -> dict[str, Row]:
    pattern = re.compile(r'^MICA_TF_OP\((\w+), "(.*?)", "(.*?)", "(.*?)", "(.*?)"', re.MULTILINE)
    rows = {}
    for path in sorted((ROOT / "src/tf/ops").glob("*/rows.def")):
        for name, inputs, outputs, attributes, roles in pattern.findall(path.read_text()):
            kinds = re.findall(r"(\w+): ([^;=]+)", attributes)
            taken = arguments_of(inputs)
            letters = roles.translate(DIFFERENTIABLE)
            by_input = {each: letters[min(i, len(roles) - 1)] for i, each in enumerate(taken)}
            kinds_of = {each: kind.strip() for each, kind in kinds}
            rows[name] = Row(taken, arguments_of(outputs), kinds_of, by_input, path.parent.name)
    return rows


ROWS = rows_of_the_table()


def carries(row: Row, argument: str) -> bool:
    """Whether an input or output of a row may be floating, or hold what is: variables, stacks."""
    kind = row.kinds.get(argument, argument)
    return kind in ("any", "type", "number", "real", "list(type)", "resource", "variant") or any(
        word in kind for word in ("float", "inexact", "complex")
    )


def differentiable(row: Row) -> bool:
    inputs = [each for each, kind in row.inputs.items() if carries(row, kind)]
    return any(row.roles[each] == "d" for each in inputs)


def without_gradient() -> set[str]:
    """Row.input of every input that could carry a gradient to a result and does not."""
    found = set()
    for name, row in ROWS.items():
        if row.family != "data" and any(carries(row, kind) for kind in row.outputs.values()):
            inputs = [each for each, kind in row.inputs.items() if carries(row, kind)]
            found |= {f"{name}.{each}" for each in inputs if row.roles[each] != "d"}
    return found


def role_of(name: str, argument: str) -> str:
    """The role of an input of a row; operands of programs are differentiated."""
    return ROWS[name].roles[argument] if argument else "d"


def numbers(like: Any, seed: int) -> np.ndarray:
    """An array like another, of numbers between 0.5 and 1.5."""
    stream = np.random.RandomState(seed)
    values = stream.uniform(0.5, 1.5, like.shape)
    if like.dtype.kind == "c":
        values = values + 1j * stream.uniform(0.5, 1.5, like.shape)
    return values.astype(like.dtype)


def inner(a: list, b: list) -> float:
    """The sum of products of real parts and of imaginary parts; None is zeros."""
    pairs = [(x, y) for x, y in zip(a, b, strict=True) if x is not None and y is not None]
    return float(sum(np.sum((np.conj(x) * y).real) for x, y in pairs))


def as_arrays(tensors: Any) -> list:
    return [None if each is None else np.asarray(tf.convert_to_tensor(each)) for each in tensors]


def is_floating(tensor: Any) -> bool:
    return tensor.dtype.is_floating or tensor.dtype.is_complex


@dataclass
class Derivatives:
    """What is computed of a case at one place: tensors, or arrays."""

    values: list
    gradients: list  # of the product of the values with the weights
    tangents: list  # of the values
    seconds: list  # the gradients of the product of the gradients with the tangents
    mixed: list  # the tangents of the gradients

    def flat(self) -> list:
        return [*self.values, *self.gradients, *self.tangents, *self.seconds, *self.mixed]


class Work:
    """One case, with its weights and tangents."""

    def __init__(self, case: RowCase) -> None:
        self.case = case
        self.operands = case.draw()
        floating = [i for i, each in enumerate(self.operands) if each.dtype.kind in "fc"]
        roles = [role_of(case.name, each) for each in case.arguments]
        self.places = [i for i in floating if roles[i] == "d"]
        self.others = [i for i in floating if roles[i] != "d"]
        single = any(self.operands[i].dtype == np.float32 for i in floating)
        self.step, self.slack = (SINGLE_STEP, SINGLE) if single else (STEP, 1.0)
        values = as_arrays(self.values(self.tensors(self.operands)))
        self.weights = [numbers(each, WEIGHTS + i) for i, each in enumerate(values)]
        sources = [self.operands[i] for i in self.places]
        self.tangents = [numbers(each, TANGENTS + i) for i, each in enumerate(sources)]

    def tensors(self, arrays: list) -> list:
        return [tf.constant(each) for each in arrays]

    def values(self, tensors: list) -> list:
        results = tf.nest.flatten(self.case.call(tf, *tensors))
        return [each for each in results if is_floating(each)]

    def gradients(self, tensors: list) -> tuple[list, list]:
        sources = [tensors[i] for i in self.places]
        with tf.GradientTape() as tape:
            tape.watch(sources)
            values = self.values(tensors)
        found = tape.gradient(values, sources, output_gradients=self.tensors(self.weights))
        return values, [None if each is None else tf.convert_to_tensor(each) for each in found]

    def all(self, tensors: list) -> Derivatives:
        sources = [tensors[i] for i in self.places]
        tangents = self.tensors(self.tangents)
        with tf.GradientTape() as tape:
            tape.watch(sources)
            values, first = self.gradients(tensors)
        reached = [(g, t) for g, t in zip(first, tangents, strict=True) if g is not None]
        seconds = tape.gradient([g for g, _ in reached], sources, [t for _, t in reached])
        seconds = [None if each is None else tf.convert_to_tensor(each) for each in seconds]
        with tf.autodiff.ForwardAccumulator(sources, tangents) as accumulator:
            values, first = self.gradients(tensors)
        pushed = [accumulator.jvp(each) for each in values]
        mixed = [None if each is None else accumulator.jvp(each) for each in first]
        return Derivatives(values, first, pushed, seconds, mixed)

    def moved(self, amount: float) -> list:
        """The operands, a step along the tangents away."""
        arrays = list(self.operands)
        for place, tangent in zip(self.places, self.tangents, strict=True):
            arrays[place] = arrays[place] + amount * tangent
        return self.tensors(arrays)


def close(a: float, b: float, scale: float, rounding: float) -> bool:
    return abs(a - b) <= rounding * max(1.0, scale)


def scale_of(a: list, b: list) -> float:
    pairs = [(x, y) for x, y in zip(a, b, strict=True) if x is not None and y is not None]
    return float(sum(np.sum(np.abs(x) * np.abs(y)) for x, y in pairs))


def same(a: list, b: list, slack: float) -> bool:
    """Whether two lists of arrays are the same but for rounding; None is zeros."""
    if len(a) != len(b):
        return False
    for x, y in zip(a, b, strict=True):
        if x is None and y is None:
            continue
        x, y = (np.zeros_like(y) if x is None else x), (np.zeros_like(x) if y is None else y)
        if x.shape != y.shape or not np.allclose(x, y, 1e-8 * slack, 1e-9 * slack):
            return False
    return True


def eager_faults(work: Work) -> tuple[list[str], list]:
    """What is wrong with derivatives taken eagerly, and all of them."""
    faults = []
    at = work.all(work.tensors(work.operands))
    parts = (at.values, at.gradients, at.tangents, at.seconds, at.mixed)
    here = Derivatives(*(as_arrays(each) for each in parts))
    above = [as_arrays(each) for each in work.gradients(work.moved(work.step))]
    below = [as_arrays(each) for each in work.gradients(work.moved(-work.step))]
    sloped = (inner(work.weights, above[0]) - inner(work.weights, below[0])) / (2 * work.step)
    slope, scale = inner(here.gradients, work.tangents), scale_of(here.gradients, work.tangents)
    if not close(slope, sloped, scale, 2e-7 * work.slack):
        faults.append(f"gradient {slope}, finite differences {sloped}")
    forward = inner(work.weights, here.tangents)
    if not close(forward, slope, scale, 1e-10 * work.slack):
        faults.append(f"forward mode {forward}, backward {slope}")
    bent = (inner(above[1], work.tangents) - inner(below[1], work.tangents)) / (2 * work.step)
    bend, scale = inner(here.seconds, work.tangents), scale_of(here.seconds, work.tangents)
    if not close(bend, bent, scale, 2e-6 * work.slack):
        faults.append(f"second derivative {bend}, finite differences {bent}")
    if not same(here.seconds, here.mixed, work.slack):
        faults.append("forward over backward mode gives another second derivative")
    return faults, here.flat()


def function_faults(work: Work, here: list) -> list[str]:
    """What is wrong inside functions, with known and with unknown dimensions."""
    faults = []
    specs = [tf.TensorSpec([None] * each.ndim, each.dtype) for each in work.operands]
    ranks = [tf.TensorSpec(None, each.dtype) for each in work.operands]
    for kind, signature in (
        ("a function", None),
        ("unknown dimensions", specs),
        ("unknown ranks", ranks),
    ):

        def every(*tensors):
            return work.all(list(tensors)).flat()

        wrapped = tf.function(every, autograph=False, input_signature=signature)
        if not same(as_arrays(wrapped(*work.tensors(work.operands))), here, work.slack):
            faults.append(f"{kind} gives something else than eager mode")
    return faults


def vectorized_faults(work: Work) -> list[str]:
    """What is wrong with the values and gradients of a batch."""
    turns = [work.operands, work.case.draw(1), work.case.draw(2)]
    loop = []
    for arrays in turns:
        values, gradients = work.gradients(work.tensors(arrays))
        loop.append(as_arrays([*values, *(each for each in gradients if each is not None)]))
    stacked = [np.stack(each) for each in zip(*turns, strict=True)]

    def one(tensors):
        values, gradients = work.gradients(list(tensors))
        return [*values, *(each for each in gradients if each is not None)]

    batch = as_arrays(tf.vectorized_map(one, tuple(work.tensors(stacked)), False))
    if not same(batch, [np.stack(each) for each in zip(*loop, strict=True)], work.slack):
        return ["vectorized_map gives something else than a loop"]
    return []


def is_vectorized(work: Work) -> bool:
    try:
        return not vectorized_faults(work)
    except ValueError:
        return False


def first_faults(work: Work) -> list[str]:
    """What is wrong with first derivatives, eagerly and in functions."""
    faults = []
    at = [as_arrays(each) for each in work.gradients(work.tensors(work.operands))]
    above, below = (as_arrays(work.values(work.moved(by))) for by in (work.step, -work.step))
    sloped = (inner(work.weights, above) - inner(work.weights, below)) / (2 * work.step)
    slope, scale = inner(at[1], work.tangents), scale_of(at[1], work.tangents)
    if not close(slope, sloped, scale, 2e-7 * work.slack):
        faults.append(f"gradient {slope}, finite differences {sloped}")
    for signature in (None, [tf.TensorSpec(None, each.dtype) for each in work.operands]):

        def both(*tensors):
            values, gradients = work.gradients(list(tensors))
            return [*values, *gradients]

        wrapped = tf.function(both, autograph=False, input_signature=signature)
        found = as_arrays(wrapped(*work.tensors(work.operands)))
        if not same(found, [*at[0], *at[1]], work.slack):
            faults.append("a function gives something else than eager mode")
    return faults


def faults_of(case: RowCase) -> list[str]:
    try:
        work = Work(case)
        faults = held_faults(work) if work.others else []
        if case.once:
            faults += first_faults(work)
        elif work.places:
            wrong, here = eager_faults(work)
            faults += wrong + function_faults(work, here)
        if not case.vmap:
            faults += vectorized_faults(work)
        elif is_vectorized(work):
            faults.append(f"is vectorized, in spite of {case.vmap!r}")
    except Exception as error:
        faults = [f"{type(error).__name__}: {str(error)[-300:]}"]
    return [f"{case.name} {case.what}: {each}" for each in faults]


def held_faults(work: Work) -> list[str]:
    """What is wrong with inputs that have no gradient: None, or zeros for the role z."""

    def found(*tensors):
        with tf.GradientTape() as tape:
            tape.watch(tensors)
            values = work.values(tensors)
        return tape.gradient(values, [tensors[i] for i in work.others])

    tensors = work.tensors(work.operands)
    answers = []
    for call in (found, tf.function(found, autograph=False)):
        for place, gradient in zip(work.others, call(*tensors), strict=True):
            zeros = role_of(work.case.name, work.case.arguments[place]) == "z"
            answers.append(not np.any(gradient) if zeros else gradient is None)
    return [] if all(answers) else ["a gradient where there is none"]


def test_derivatives_of_every_row():
    faults = [fault for case in ROW_CASES for fault in faults_of(case)]
    assert not faults, "\n".join(faults)


def test_inputs_without_a_gradient_have_a_reason():
    text = (ROOT / "src/tf/none.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\| ([^|]+) \| [^|]+ \|$", text, re.MULTILINE)
    named = [each for cell in cells for each in cell.split() if "." in each]
    listed = set(named) - {"ops/data/rows.def"}
    assert len(named) == len(set(named)), "an input is listed twice"
    assert listed == without_gradient(), f"none.md: {sorted(listed ^ without_gradient())}"


def test_every_differentiable_row_has_a_case():
    lacking = {name for name, row in ROWS.items() if differentiable(row)}
    lacking -= {case.name for case in ROW_CASES} | {"ReadVariableOp"}  # it has a test of its own
    assert not lacking, f"tests/tf/row_cases.py has no case of {sorted(lacking)}"


def test_reading_a_variable_has_every_derivative():
    start = np.array([0.3, 0.7, 1.1])
    v = tf.Variable(start)

    def value():
        return tf.sin(v) * v * v.read_value()

    def gradients():
        with tf.GradientTape() as outer:
            with tf.GradientTape() as tape:
                y = value()
            first = tape.gradient(y, v)
        second = outer.gradient(first, v)
        with tf.autodiff.ForwardAccumulator(v, tf.constant(start)) as accumulator:
            y = value()
        return first, second, accumulator.jvp(y)

    sine, cosine = np.sin(start), np.cos(start)
    first = cosine * start**2 + 2 * sine * start
    second = -sine * start**2 + 4 * cosine * start + 2 * sine
    for call in (gradients, tf.function(gradients), tf.function(gradients, autograph=False)):
        found = as_arrays(call())
        np.testing.assert_allclose(found[0], first, 1e-12)
        np.testing.assert_allclose(found[1], second, 1e-12)
        np.testing.assert_allclose(found[2], first * start, 1e-12)
