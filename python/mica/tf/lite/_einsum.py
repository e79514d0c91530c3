"""Einstein's sums as transposes, reshapes and one product of matrices."""

from __future__ import annotations

from math import prod

from ._plan import Value
from ._rows import ConverterError
from ._rows_math import product


class _Operand:
    """A value whose axes have letters."""

    def __init__(self, make, value: Value, letters: str) -> None:
        self.make, self.value, self.letters = make, value, letters

    def order(self, letters: str) -> None:
        """Bring the axes into this order."""
        if letters == self.letters:
            return
        places = [self.letters.index(letter) for letter in letters]
        value = self.value
        shape = [value.shape[i] for i in places]
        if value.data is not None:
            self.value = self.make.constant(value.data.transpose(places))
            self.value.name = value.name
        else:
            order = self.make.constant(places, "int32")
            self.value = self.make.step("TRANSPOSE", [value, order], shape)
        self.letters = letters

    def sum_out(self, wanted: str) -> None:
        """Sum over the axes whose letters are not in the result."""
        axes = [i for i, letter in enumerate(self.letters) if letter not in wanted]
        if not axes:
            return
        value = self.value
        left = [i for i in range(len(self.letters)) if i not in axes]
        axes = self.make.constant(axes, "int32")
        shape = [value.shape[i] for i in left]
        self.value = self.make.step("SUM", [value, axes], shape, keep_dims=False)
        self.letters = "".join(self.letters[i] for i in left)

    def reshape(self, shape: list) -> None:
        """Another shape of the same elements."""
        self.value = reshaped(self.make, self.value, shape)


def reshaped(make, value: Value, shape: list) -> Value:
    """A value in another shape, of which at most one size is unknown."""
    if tuple(shape) == value.shape:
        return value
    if value.data is not None:
        made = make.constant(value.data.reshape(shape))
        made.name = value.name
        return made
    sizes = make.constant(_sizes(make.node, shape), "int32")
    return make.step("RESHAPE", [value, sizes], shape, new_shape=_sizes(make.node, shape))


def _sizes(node, shape: list) -> list[int]:
    if sum(n is None for n in shape) > 1:
        raise ConverterError(
            f"Einsum ({node.name}) with several axes of unknown size has no TensorFlow Lite kernel"
        )
    return [-1 if n is None else n for n in shape]


def _size(shape: list):
    return None if None in shape else prod(shape)


def _lettered(node) -> tuple[list[str], str]:
    """The letters of the operands and of the result, with the dots spelled out."""
    equation = node.attributes["equation"]
    equation = equation.decode() if isinstance(equation, bytes) else equation
    left, arrow, result = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    free = [c for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" if c not in equation]
    dots = 0
    spelled = []
    for term, value in zip(terms, node.inputs, strict=True):
        if value.rank is None:
            raise ConverterError(
                f"Einsum ({node.name}) of an unknown rank has no TensorFlow Lite form"
            )
        count = value.rank - len(term.replace("...", "")) if "..." in term else 0
        dots = max(dots, count)
        spelled.append((term, count))
    names = "".join(free[:dots])
    texts = [term.replace("...", names[dots - count :]) for term, count in spelled]
    if not arrow:
        letters = "".join(texts)
        result = "..." + "".join(
            sorted(c for c in set(letters) - set(names) if letters.count(c) == 1)
        )
    return texts, result.replace("...", names)


def write_einsum(node, make) -> None:
    """Write the node."""
    texts, result = _lettered(node)
    if len(texts) > 2 or any(len(set(text)) != len(text) for text in texts):
        raise ConverterError(
            f"Einsum ({node.name}) of more than two operands or with diagonals has no TensorFlow "
            "Lite kernel"
        )
    if node.inputs[0].dtype != "float32":
        raise ConverterError(
            f"Einsum ({node.name}) takes float32 in TensorFlow Lite, not {node.inputs[0].dtype}"
        )
    operands = [_Operand(make, v, t) for v, t in zip(node.inputs, texts, strict=True)]
    if len(operands) == 1:
        operands[0].sum_out(result)
        order = make.constant([operands[0].letters.index(c) for c in result], "int32")
        make("TRANSPOSE", [operands[0].value, order])
        return
    a, b = operands
    a.sum_out(b.letters + result)
    b.sum_out(a.letters + result)
    _write_product(node, make, a, b, result)


def _write_product(node, make, a: _Operand, b: _Operand, result: str) -> None:
    sizes = dict(zip(a.letters, a.value.shape, strict=True))
    for letter, size in zip(b.letters, b.value.shape, strict=True):
        known = sizes.get(letter)
        if known is not None and size is not None and 1 in (known, size) and known != size:
            raise ConverterError(
                f"Einsum ({node.name}) that broadcasts {letter!r} has no TensorFlow Lite form"
            )
        sizes[letter] = size if known is None else known
    shared = "".join(c for c in result if c in a.letters and c in b.letters)
    summed = "".join(c for c in a.letters if c in b.letters and c not in result)
    rows = "".join(c for c in a.letters if c not in b.letters)
    columns = "".join(c for c in b.letters if c not in a.letters)

    def shape(letters: str) -> list:
        return [sizes[c] for c in letters]

    if not shared and a.value.data is not None and b.value.data is None:
        a, b, rows, columns = b, a, columns, rows  # the constant is the matrix of weights
    a.order(shared + rows + summed)
    b.order(shared + summed + columns)
    m, k, n = (_size(shape(letters)) for letters in (rows, summed, columns))
    a.reshape([*shape(shared), m, k])
    b.reshape([*shape(shared), k, n])
    whole = shared + rows + columns
    between = [*shape(shared), m, n]
    steps = []
    if between != shape(whole):
        steps.append(("RESHAPE", shape(whole)))
    if whole != result:
        steps.append(("TRANSPOSE", shape(result)))
    if not steps:
        product(make, a.value, b.value, False, False)
        return
    value = make.value("float32", tuple(between))
    own, node.outputs = node.outputs, [value]
    product(make, a.value, b.value, False, False)
    node.outputs = own
    if steps[0][0] == "RESHAPE" and len(steps) == 2:
        value = reshaped(make, value, shape(whole))
    if steps[-1][0] == "TRANSPOSE":
        make("TRANSPOSE", [value, make.constant([whole.index(c) for c in result], "int32")])
    else:
        sizes_of = _sizes(node, shape(whole))
        make("RESHAPE", [value, make.constant(sizes_of, "int32")], new_shape=sizes_of)
