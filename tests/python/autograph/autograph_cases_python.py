"""Control flow over tensors amid the rest of Python: functions, classes, builtins, statements."""

from __future__ import annotations

import functools
import math

import numpy as np
import tensorflow as tf
from autograph_registry import case

# Functions


def helper_square(v):
    return v * v if v > 0 else -v * v


@case((3,), (-3,))
def calls_a_function(x):
    return helper_square(x) + 1


def helper_sum(n):
    total = 0
    for i in tf.range(n):
        total += helper_square(i - 2)
    return total


@case((5,), (0,))
def calls_calls(n):
    return helper_sum(n) * 2


@case((3,), (-3,))
def nested_function(x):
    def inner(v):
        if v > 0:
            return v * 10
        return v

    return inner(x) + inner(-x)


@case((3,), (-3,))
def closure_variable(x):
    scale = 5

    def inner(v):
        if v > 0:
            return v * scale
        return v

    return inner(x)


@case((3,), (-3,))
def closure_after_branch(x):
    if x > 0:
        scale = 2
    else:
        scale = 3

    def inner(v):
        return v * scale

    return inner(x)


@case((3,), (-3,))
def lambda_inside(x):
    choose = lambda v: v if v > 0 else v * v  # noqa: E731
    return choose(x) + choose(x + 1)


@case((3,), (-3,))
def lambda_of_loop(n):
    total = 0
    for i in tf.range(3):
        f = lambda v: v + i  # noqa: E731, B023
        total = f(total) + n
    return total


@case((3,), (-3,))
def default_arguments(x):
    def inner(v, scale=3, *, shift=1):
        if v > 0:
            v = v * scale
        return v + shift

    return inner(x) + inner(x, 2) + inner(x, shift=5)


@case((3,), (-3,))
def star_arguments(x):
    def inner(*values, **options):
        total = options.get("start", 0)
        for v in values:
            if v > 0:
                total += v
        return total

    return inner(x, -x, 2, start=x)


@case((4,), (0,))
def partial_function(x):
    add = functools.partial(helper_add, 10)
    return add(x)


def helper_add(a, b):
    if b > 0:
        return a + b
    return a - b


@case((3,), (-3,))
def nonlocal_counter(x):
    count = 0

    def step(v):
        nonlocal count
        count += 1
        return v + count

    y = step(step(x))
    if x > 0:
        y = y * count
    return y


@case((5,), (1,))
def recursive_python(x):
    def power(v, n):
        if n == 0:
            return 1
        return v * power(v, n - 1)

    return power(x, 3)


class Accumulator:
    """An object with state that branches and loops change."""

    def __init__(self, start):
        self.total = start
        self.__hidden = 1

    def add(self, v):
        if v > 0:
            self.total = self.total + v
        else:
            self.total = self.total - v

    def add_hidden(self, v):
        if v > 0:
            self.__hidden = self.__hidden + v
        return self.__hidden

    def __call__(self, v):
        return v * 2 if v > 0 else v


class Doubling(Accumulator):
    """A subclass that uses super."""

    def add(self, v):
        if v > 100:
            v = v - 100
        super().add(v)

    @staticmethod
    def sign(v):
        if v > 0:
            return 1
        return -1

    @classmethod
    def make(cls, v):
        if v > 0:
            v = v + 1
        return cls(v)


@case((3,), (-3,))
def method_with_branch(x):
    a = Accumulator(tf.constant(0))
    a.add(x)
    a.add(x * 2)
    return a.total


@case((3,), (-3,), beyond=True)
def private_attribute(x):
    a = Accumulator(0)
    return a.add_hidden(x)


@case((3,), (-3,))
def callable_object(x):
    a = Accumulator(0)
    return a(x) + 1


@case((3,), (300,))
def super_method(x):
    a = Doubling(tf.constant(0))
    a.add(x)
    return a.total


@case((3,), (-3,))
def static_and_class_methods(x):
    return Doubling.sign(x) + Doubling.make(x).total


@case((3,), (-3,))
def attribute_in_branch(x):
    a = Accumulator(tf.constant(1))
    if x > 0:
        a.total = a.total + x
    return a.total


@case((3,), (0,))
def attribute_in_loop(n):
    a = Accumulator(tf.constant(1))
    for i in tf.range(n):
        a.total = a.total * 2 + i
    return a.total


@case((3,), (-3,))
def element_in_branch(x):
    d = {"a": x, "b": 1}
    if x > 0:
        d["a"] = x * 10
    return d["a"] + d["b"]


@case((3,), (-3,))
def list_element_in_branch(x):
    values = [x, x]
    if x > 0:
        values[1] = x * 10
    return values[0] + values[1]


@case((3,), (0,))
def element_in_loop(n):
    d = {"total": tf.constant(0)}
    i = 0
    while i < n:
        d["total"] = d["total"] + i
        i += 1
    return d["total"]


def decorated(function):
    @functools.wraps(function)
    def wrapper(*arguments):
        result = function(*arguments)
        if result > 10:
            result = result - 10
        return result

    return wrapper


@decorated
def helper_decorated(v):
    if v > 0:
        return v * 5
    return v


@case((3,), (1,), (-1,))
def calls_decorated(x):
    return helper_decorated(x)


# Builtins


@case(([1, 2, 3],))
def builtin_len(x):
    return len(x) * 2


@case((-3,), (3,))
def builtin_abs(x):
    return abs(x)


@case((3,))
def builtin_int_float(x):
    return float(x) / 2.0 + float(int(x))


@case((2,))
def builtin_sum_of_list(x):
    return sum([x, x + 1, x + 2])


@case((2,))
def builtin_map(x):
    total = 0
    for v in map(lambda v: v * v, [x, x + 1]):
        total += v
    return total


@case((2,))
def comprehension(x):
    values = [x * i for i in range(4) if i != 1]
    return tf.stack(values)


@case((2,), (-2,))
def comprehension_with_branch(x):
    values = [helper_square(x + i) for i in range(3)]
    return tf.stack(values)


@case((2,))
def dictionary_comprehension(x):
    d = {k: x * i for i, k in enumerate("abc")}
    return d["a"] + d["c"]


@case((2,))
def generator_expression(x):
    return sum(x * i for i in range(4))


@case((2,))
def python_max(x):
    return x * max(1, 2, 3) + min([4, 5])


@case((2,))
def sorted_python(x):
    total = 0
    for i, v in enumerate(sorted([3, 1, 2], reverse=True)):
        total += i * v * x
    return total


@case((2,))
def any_and_all(x):
    if any([False, True]) and all([True, True]):
        return x
    return -x


@case((2,))
def is_instance(x):
    if isinstance(x, int):
        return 0
    return 1


# Lists and other values of Python


@case((2,))
def list_append(x):
    values = []
    for i in range(3):
        values.append(x * i)
    return tf.stack(values)


@case((2,))
def list_pop(x):
    values = [x, x * 2, x * 3]
    last = values.pop()
    return last - values[0]


@case((2,))
def list_extend_and_slice(x):
    values = [x]
    values.extend([x + 1, x + 2])
    return tf.stack(values[1:])


@case((2,))
def list_in_branch(x):
    values = [x, x + 1]
    if x > 0:
        values = [v * 2 for v in values]
    return values[0] + values[1]


@case((2,))
def string_keys(x):
    table = {"one": 1, "two": 2}
    total = 0
    for name, value in sorted(table.items()):
        if name == "two":
            total += value * x
    return total


@case((2,))
def format_strings(x):
    text = f"{'a'}{1}"
    return x + len(text)


@case((2,))
def starred_assignment(x):
    first, *rest = [x, x + 1, x + 2]
    return first * rest[0] * rest[-1]


@case((2,))
def multiple_targets(x):
    a = b = x
    if x > 0:
        a = b = x * 2
    return a + b


@case((2,), (-2,))
def deleted_name(x):
    t = x * 2
    y = t
    del t
    if x > 0:
        t = x
        y = y + t
    return y


@case((2,))
def math_module(x):
    return tf.cast(x, tf.float32) * math.sqrt(4.0)


@case((2,))
def numpy_inside(x):
    return x + np.int32(3) * np.prod([2, 2]).item()


# Other statements around control flow


@case((2,), (-2,))
def with_statement(x):
    with tf.name_scope("inside"):
        if x > 0:
            y = x
        else:
            y = x * x
    return y


@case((2,), (-2,))
def with_in_branch(x):
    if x > 0:
        with tf.name_scope("inside"):
            y = x * 3
    else:
        y = x
    return y


@case((2,), (-2,))
def try_statement(x):
    try:
        if x > 0:
            y = x
        else:
            y = x * x
    except ValueError:
        y = x
    finally:
        z = x + 1
    return y + z


@case((2,), (-2,))
def try_in_branch(x):
    if x > 0:
        try:
            y = x * int("3")
        except ValueError:
            y = x
    else:
        y = x
    return y


@case((2,))
def exception_in_python(x):
    try:
        y = int("no number")
    except ValueError as error:
        y = len(str(error)) * 0 + 4
    return x + y


@case((2,), (-2,))
def assert_python(x):
    limit = 5
    assert limit > 2, "a limit"
    if x > 0:
        x = x + limit
    return x


MODULE_SCALE = 3


@case((2,), (-2,))
def global_read(x):
    if x > 0:
        x = x * MODULE_SCALE
    return x


MODULE_COUNT = 0


@case((2,))
def global_write(x):
    global MODULE_COUNT
    MODULE_COUNT = 5
    for _ in range(2):
        MODULE_COUNT += 1
    return x + MODULE_COUNT


@case((2,), (-2,))
def import_inside(x):
    import math as m

    if x > 0:
        y = x + m.floor(2.5)
    else:
        y = x
    return y


@case((2,), (-2,))
def class_inside(x):
    class Local:
        scale = 4

        def apply(self, v):
            if v > 0:
                return v * self.scale
            return v

    return Local().apply(x)


@case((2,), (-2,), beyond=True)
def annotated(x):
    y: int = 0
    if x > 0:
        y: int = 5
    return x + y


@case((2,), (-2,))
def docstring(x):
    """A function with a docstring and a return inside."""
    if x > 0:
        return x
    return -x


@case((5,), (0,))
def while_in_with_in_if(n):
    total = 0
    if n > 2:
        with tf.name_scope("loop"):
            i = 0
            while i < n:
                total += i
                i += 1
    return total


# Numbers


@case((7,), (8,), (1,), (97,))
def is_prime(n):
    if n < 2:
        return False
    prime = True
    i = 2
    while i * i <= n:
        if n % i == 0:
            prime = False
            break
        i += 1
    return prime


@case(([3, 1, 2, 5, 4],), ([1, 2, 3, 4, 5],))
def bubble_sort(x):
    n = 5
    for i in tf.range(n):
        for j in tf.range(n - 1 - i):
            a, b = x[j], x[j + 1]
            if a > b:
                x = tf.tensor_scatter_nd_update(x, [[j], [j + 1]], [b, a])
    return x


@case(([1, 3, 5, 7, 9, 11], 7), ([1, 3, 5, 7, 9, 11], 4))
def binary_search(x, wanted):
    low, high = tf.constant(0), tf.constant(5)
    found = -1
    while low <= high:
        middle = (low + high) // 2
        value = x[middle]
        if value == wanted:
            found = middle
            break
        elif value < wanted:
            low = middle + 1
        else:
            high = middle - 1
    return found


@case((2.0, 10), (0.5, 3), (3.0, 0))
def power(x, n):
    result = 1.0
    while n > 0:
        if n % 2 == 1:
            result *= x
        x *= x
        n //= 2
    return result


@case(([[1.0, 2.0], [3.0, 4.0]], 3), ([[1.0, 2.0], [3.0, 4.0]], 0))
def matrix_power(m, n):
    result = tf.eye(2)
    for _ in tf.range(n):
        result = tf.matmul(result, m)
    return result


@case(([1.0, -2.0, 3.0, -4.0],))
def positive_sum(x):
    total = 0.0
    for v in x:
        if v < 0.0:
            continue
        total += v
    return total


@case(([4, 8, 15, 16, 23, 42], 15), ([4, 8, 15, 16, 23, 42], 99))
def index_of(x, wanted):
    index = -1
    i = 0
    for v in x:
        if v == wanted:
            index = i
            break
        i += 1
    return index


@case((0.5,), (2.5,))
def logistic_map(r):
    x = 0.3
    for _ in tf.range(20):
        x = r * x * (1.0 - x)
        if x > 0.9:
            x = 0.9
    return x


@case(([2.0, 3.0], 0.1, 20), ([2.0, 3.0], 0.1, 0))
def gradient_descent(x, rate, n):
    for _ in tf.range(n):
        x = x - rate * 2.0 * x
        if tf.reduce_max(tf.abs(x)) < 0.5:
            break
    return x


@case(([1, 2, 3, 4],), ([4, 3, 2, 1],), ([2, 2, 2, 2],))
def running_maximum(x):
    best = x[0]
    count = 0
    for v in x:
        if v > best:
            best = v
            count += 1
    return best, count


@case((6,), (1,))
def pascal_row(n):
    row = tf.ones([1], tf.int32)
    for _ in tf.range(n):
        tf.autograph.experimental.set_loop_options(shape_invariants=[(row, tf.TensorShape([None]))])
        row = tf.concat([row, [0]], 0) + tf.concat([[0], row], 0)
    return row


@case((12,), (35,), (97,))
def digits_sum(n):
    total = 0
    while n > 0:
        total += n % 10
        n = n // 10
    return total


@case((15,), (1,))
def fizz_buzz(n):
    total = 0
    for i in tf.range(1, n + 1):
        if i % 15 == 0:
            total += 1000
        elif i % 5 == 0:
            total += 100
        elif i % 3 == 0:
            total += 10
        else:
            total += 1
    return total


# What TensorFlow leaves as it is


@case((3,), (1,), beyond=True)
def walrus(x):
    if (y := x + 1) > 3:
        y = y * 2
    return y


@case((30,), (1,), beyond=True)
def walrus_in_while(n):
    i = 0
    while (square := i * i) < n:
        i += 1
    return i, square


@case((3,), (0,), beyond=True)
def for_else(n):
    total = 0
    for i in tf.range(n):
        total += i
    else:
        total += 100
    return total


@case((9,), (3,), beyond=True)
def while_else(n):
    i = 0
    while i < n:
        if i == 5:
            break
        i += 1
    else:
        i = i + 100
    return i


@case((3,), (5,), beyond=True)
def assertion(x):
    assert x > 0, "x is positive"
    return x * 2


@case((3,), (-3,), beyond=True)
def match_statement(x):
    kind = "double"
    match kind:
        case "double":
            y = x * 2 if x > 0 else x
        case _:
            y = x
    return y


@case((4, 2), (4, 9), beyond=True)
def return_skips_the_rest(n, stop):
    total = 0
    for i in tf.range(n):
        total += i
        if total > stop:
            return total * 10
        total += 1
    total = total + 7
    return total


@case((5,), (-5,), beyond=True)
def partly_returning_branches(x):
    if x > 0:
        if x > 3:
            return 1
    else:
        if x < -3:
            return 2
    return 3
