"""tf.random: with the same seeds, the numbers that TensorFlow draws."""

from __future__ import annotations

import builtins as _builtins
import enum as _enum
import random as _python_random
import weakref as _weakref

import numpy as _numpy

from .. import _mica
from . import _dtypes, errors
from ._array import broadcast_to, shape_operand
from ._context import init_scope
from ._core import convert_to_tensor, ops
from ._math import cast
from ._missing import finder as _finder
from ._missing import namespace as _namespace
from ._reduce import reduce_prod
from ._select import broadcast_dynamic_shape
from ._variable import Variable

_MOST = 2**31 - 1
_DEFAULT_GRAPH_SEED = 87654321


_global_seed: int | None = None
_rng = _python_random.Random()
_graph_seeds: _weakref.WeakKeyDictionary = _weakref.WeakKeyDictionary()


class Algorithm(_enum.Enum):
    """Algorithms for random numbers."""

    PHILOX = 1
    THREEFRY = 2
    AUTO_SELECT = 3


_ALGORITHMS = {"philox": 1, "threefry": 2, "auto_select": 3}


def _algorithm(alg) -> int:
    """The number of an algorithm, by its name or number; the one for all devices is Philox."""
    if isinstance(alg, Algorithm):
        alg = alg.value
    if isinstance(alg, str):
        number = _ALGORITHMS.get(alg)
        words = "philox for the Philox algorithm, threefry for the ThreeFry algorithm, and "
        words += "auto_select for auto-selection."
    else:
        number = int(alg)
        number = number if number in _ALGORITHMS.values() else None
        words = "1 for the Philox algorithm, 2 for the ThreeFry algorithm, and 3 for "
        words += "auto-selection."
    if number is None:
        raise ValueError(
            f"Argument `alg` got unsupported value {alg}. Supported values are {words}"
        )
    return 1 if number == 3 else number


def _check_stateless(alg) -> None:
    if _algorithm(alg) != 1:
        raise errors.InvalidArgumentError(
            None,
            None,
            "alg: no device here has the ThreeFry algorithm; use 'philox' or 'auto_select'",
        )


def _vector(shape):
    """A shape as a tensor; a number alone stays one, which the ops refuse."""
    return convert_to_tensor(shape) if isinstance(shape, int) else shape_operand(shape)


def set_seed(seed: int) -> None:
    """Set the seed from which ops without a seed of their own get theirs."""
    global _global_seed
    _global_seed = int(seed)
    _rng.seed(_global_seed)
    _mica.tf_random_reset()


def _truncate(seed: int) -> int:
    return int(seed) % _MOST


def get_seed(op_seed):
    """Return the two seeds of an op, as TensorFlow derives them."""
    eager = _mica.tf_executing_eagerly()
    if eager:
        global_seed = _global_seed
    else:
        global_seed = _seed_of_graph(_mica.tf_current_graph())
    if global_seed is not None:
        if op_seed is None:
            if eager:
                op_seed = _rng.randint(0, _MOST)
            else:
                graph = _mica.tf_current_graph()
                op_seed = _graph_seeds.get(graph, 0)
                _graph_seeds[graph] = op_seed + 1
        seeds = _truncate(global_seed), _truncate(op_seed)
    elif op_seed is not None:
        seeds = _DEFAULT_GRAPH_SEED, _truncate(op_seed)
    else:
        return 0, 0
    return (0, _MOST) if seeds == (0, 0) else seeds


def _seed_of_graph(graph):
    """The global seed as it was when tracing began."""
    known = getattr(graph, "seed", False)
    if known is False:
        outer = graph.outer_graph
        known = graph.seed = _global_seed if outer is None else _seed_of_graph(outer)
    return known


def _float(dtype) -> _dtypes.DType:
    dtype = _dtypes.as_dtype(dtype)
    if not dtype.is_floating:
        raise ValueError(f"Argument `dtype` got invalid value {dtype!r}: a float is needed")
    return dtype


def _scaled(x, low, high, dtype):
    """Return x in [0, 1) as a number in [low, high)."""
    low, high = convert_to_tensor(low, dtype), convert_to_tensor(high, dtype)
    return ops["AddV2"](ops["Mul"](x, ops["Sub"](high, low)), low)


def _moved(x, mean, stddev, dtype):
    mean, stddev = convert_to_tensor(mean, dtype), convert_to_tensor(stddev, dtype)
    return ops["AddV2"](ops["Mul"](x, stddev), mean)


def uniform(shape, minval=0, maxval=None, dtype=_dtypes.float32, seed=None, name=None):
    """Return uniform numbers in [minval, maxval)."""
    dtype = _dtypes.as_dtype(dtype)
    if maxval is None:
        if dtype.is_integer:
            raise ValueError(f"Must specify maxval for integer dtype {dtype!r}")
        maxval = 1
    first, second = get_seed(seed)
    sizes = _vector(shape)
    if dtype.is_integer:
        low, high = convert_to_tensor(minval, dtype), convert_to_tensor(maxval, dtype)
        _check_range(low, high)
        return ops["RandomUniformInt"](sizes, low, high, seed=first, seed2=second, name=name)
    x = ops["RandomUniform"](sizes, seed=first, seed2=second, dtype=dtype)
    return (
        x
        if _is_plain(minval, maxval) and minval == 0 and maxval == 1
        else _scaled(x, minval, maxval, dtype)
    )


def _is_plain(*numbers) -> bool:
    return all(isinstance(n, int | float) for n in numbers)


def _check_range(low, high) -> None:
    if isinstance(low, _mica.TFEagerTensor) and isinstance(high, _mica.TFEagerTensor):
        if low.shape.rank == 0 and high.shape.rank == 0 and int(low) >= int(high):
            raise errors.InvalidArgumentError(
                None, None, f"Need minval < maxval, got {int(low)} >= {int(high)}"
            )


def normal(shape, mean=0.0, stddev=1.0, dtype=_dtypes.float32, seed=None, name=None):
    """Return normal numbers."""
    dtype = _float(dtype)
    first, second = get_seed(seed)
    x = ops["RandomStandardNormal"](_vector(shape), seed=first, seed2=second, dtype=dtype)
    return _moved(x, mean, stddev, dtype)


def truncated_normal(shape, mean=0.0, stddev=1.0, dtype=_dtypes.float32, seed=None, name=None):
    """Return normal numbers, drawn again where they are beyond two deviations."""
    dtype = _float(dtype)
    first, second = get_seed(seed)
    x = ops["TruncatedNormal"](_vector(shape), seed=first, seed2=second, dtype=dtype)
    return _moved(x, mean, stddev, dtype)


def shuffle(value, seed=None, name=None):
    """Return the slices along the first axis in random order."""
    first, second = get_seed(seed)
    return _shuffled(
        convert_to_tensor(value),
        lambda x: ops["RandomShuffle"](x, seed=first, seed2=second, name=name),
    )


def _shuffled(value, shuffle):
    """Return slices in another order; strings by the order of their places."""
    if value.dtype != _dtypes.string:
        return shuffle(value)
    places = shuffle(ops["Range"](0, ops["Shape"](value)[0], 1))
    return ops["GatherV2"](value, places, 0)


def categorical(logits, num_samples, dtype=None, seed=None, name=None):
    """Return classes drawn by unnormalised log probabilities, num_samples for each row."""
    first, second = get_seed(seed)
    dtype = _dtypes.int64 if dtype is None else _dtypes.as_dtype(dtype)
    x = convert_to_tensor(logits, dtype_hint=_dtypes.float32)
    count = convert_to_tensor(num_samples, _dtypes.int32)
    return ops["Multinomial"](x, count, seed=first, seed2=second, output_dtype=dtype, name=name)


def _least(dtype) -> float:
    return float(_numpy.finfo(dtype.as_numpy_dtype).tiny) if dtype != _dtypes.bfloat16 else 1e-38


def _gamma_parameters(alpha, beta, dtype):
    alpha = convert_to_tensor(alpha, dtype)
    beta = convert_to_tensor(1.0 if beta is None else beta, dtype)
    sizes = broadcast_dynamic_shape(ops["Shape"](alpha), ops["Shape"](beta))
    return broadcast_to(alpha, sizes), beta


def gamma(shape, alpha, beta=None, dtype=_dtypes.float32, seed=None, name=None):
    """Return gamma distributed numbers, shape of them for each alpha."""
    dtype = _float(dtype)
    first, second = get_seed(seed)
    alpha, beta = _gamma_parameters(alpha, beta, dtype)
    x = ops["RandomGamma"](_vector(shape), alpha, seed=first, seed2=second)
    x = ops["ImplicitGamma"](alpha, x)
    return ops["Maximum"](
        convert_to_tensor(_least(dtype), dtype), ops["RealDiv"](x, beta), name=name
    )


def poisson(shape, lam, dtype=_dtypes.float32, seed=None, name=None):
    """Return Poisson distributed numbers, shape of them for each rate."""
    first, second = get_seed(seed)
    return ops["RandomPoissonV2"](
        _vector(shape),
        convert_to_tensor(lam, dtype_hint=_dtypes.float32),
        seed=first,
        seed2=second,
        dtype=_dtypes.as_dtype(dtype),
        name=name,
    )


# ---- stateless -----------------------------------------------------------------------------------


def _key_counter(seed, alg="auto_select"):
    _check_stateless(alg)
    return ops["StatelessRandomGetKeyCounter"](convert_to_tensor(seed))


def stateless_uniform(
    shape, seed, minval=0, maxval=None, dtype=_dtypes.float32, name=None, alg="auto_select"
):
    """Return uniform numbers that depend on the seed alone."""
    dtype = _dtypes.as_dtype(dtype)
    if dtype.is_unsigned and minval is not None:
        raise ValueError(
            f"Argument `dtype` got invalid value {dtype!r} when argument `minval` is not None. "
            "Please don't use unsigned integers in this case."
        )
    key, counter = _key_counter(seed, alg)
    return _uniform_of(shape, key, counter, minval, maxval, dtype)


def _uniform_of(shape, key, counter, minval, maxval, dtype):
    sizes = _vector(shape)
    if dtype.is_integer:
        if (minval is None) != (maxval is None):
            raise ValueError(
                f"For integer `dtype` argument {dtype!r}, argument `minval` and `maxval` must be "
                f"both None or not None. Got `minval`={minval} and `maxval`={maxval}."
            )
        if minval is None:
            return ops["StatelessRandomUniformFullIntV2"](sizes, key, counter, 1, dtype=dtype)
        return ops["StatelessRandomUniformIntV2"](
            sizes,
            key,
            counter,
            1,
            convert_to_tensor(minval, dtype),
            convert_to_tensor(maxval, dtype),
        )
    x = ops["StatelessRandomUniformV2"](sizes, key, counter, 1, dtype=dtype)
    return _scaled(x, 0 if minval is None else minval, 1 if maxval is None else maxval, dtype)


def stateless_normal(
    shape, seed, mean=0.0, stddev=1.0, dtype=_dtypes.float32, name=None, alg="auto_select"
):
    """Return normal numbers that depend on the seed alone."""
    dtype = _float(dtype)
    key, counter = _key_counter(seed, alg)
    x = ops["StatelessRandomNormalV2"](_vector(shape), key, counter, 1, dtype=dtype)
    return _moved(x, mean, stddev, dtype)


def stateless_truncated_normal(
    shape, seed, mean=0.0, stddev=1.0, dtype=_dtypes.float32, name=None, alg="auto_select"
):
    """Return truncated normal numbers that depend on the seed alone."""
    dtype = _float(dtype)
    mean, stddev = convert_to_tensor(mean, dtype), convert_to_tensor(stddev, dtype)
    key, counter = _key_counter(seed, alg)
    x = ops["StatelessTruncatedNormalV2"](_vector(shape), key, counter, 1, dtype=dtype)
    return _moved(x, mean, stddev, dtype)


def stateless_categorical(logits, num_samples, seed, dtype=_dtypes.int64, name=None):
    """Return classes drawn by unnormalised log probabilities, which depend on the seed alone."""
    x = convert_to_tensor(logits, dtype_hint=_dtypes.float32)
    count = convert_to_tensor(num_samples, _dtypes.int32)
    dtype = _dtypes.as_dtype(dtype)
    if dtype not in (_dtypes.int32, _dtypes.int64):
        raise ValueError(
            f"Argument `dtype` got invalid value {dtype!r}. Accepted dtypes are int32 and int64."
        )
    return ops["StatelessMultinomial"](
        x, count, convert_to_tensor(seed), output_dtype=dtype, name=name
    )


def stateless_gamma(shape, seed, alpha, beta=None, dtype=_dtypes.float32, name=None):
    """Return gamma distributed numbers that depend on the seed alone."""
    dtype = _float(dtype)
    key, counter = _key_counter(seed)
    alpha, beta = _gamma_parameters(alpha, beta, dtype)
    x = ops["StatelessRandomGammaV3"](_vector(shape), key, counter, 1, alpha)
    found = ops["Maximum"](
        convert_to_tensor(_least(dtype), dtype),
        ops["RealDiv"](ops["ImplicitGamma"](alpha, x), beta),
        name=name,
    )
    found.set_shape(x.shape)
    return found


def stateless_poisson(shape, seed, lam, dtype=_dtypes.int32, name=None):
    """Return Poisson distributed numbers that depend on the seed alone."""
    rates = convert_to_tensor(lam, dtype_hint=_dtypes.float32)
    dtype = _dtypes.as_dtype(dtype)
    return ops["StatelessRandomPoisson"](
        _vector(shape), convert_to_tensor(seed), rates, dtype=dtype, name=name
    )


def stateless_binomial(shape, seed, counts, probs, output_dtype=_dtypes.int32, name=None):
    """Return binomially distributed numbers that depend on the seed alone."""
    probs = convert_to_tensor(probs, dtype_hint=_dtypes.float32)
    counts = ops["Cast"](convert_to_tensor(counts, dtype_hint=probs.dtype), DstT=probs.dtype)
    sizes = broadcast_dynamic_shape(ops["Shape"](counts), ops["Shape"](probs))
    return ops["StatelessRandomBinomial"](
        _vector(shape),
        convert_to_tensor(seed),
        broadcast_to(counts, sizes),
        broadcast_to(probs, sizes),
        dtype=_dtypes.as_dtype(output_dtype),
        name=name,
    )


def stateless_shuffle(value, seed, alg="auto_select", name=None):
    """Return the slices along the first axis in an order that depends on the seed alone."""
    key, counter = _key_counter(seed, alg)
    return _shuffled(
        convert_to_tensor(value),
        lambda x: ops["StatelessShuffle"](x, key, counter, 1, name=name),
    )


def split(seed, num=2, alg="auto_select"):
    """Return several seeds made from one, one per row."""
    seed = convert_to_tensor(seed)
    return stateless_uniform([num, 2], seed, None, None, seed.dtype, alg=alg)


def fold_in(seed, data, alg="auto_select"):
    """Return a seed made from a seed and a number."""
    seed = convert_to_tensor(seed)
    data = convert_to_tensor(data)
    first = stateless_uniform([1], seed, None, None, data.dtype, alg=alg)
    second = ops["Reshape"](data, convert_to_tensor([1]))
    return ops["ConcatV2"]([first, second], 0)


# ---- generators ----------------------------------------------------------------------------------


class Generator:
    """A generator of random numbers with its state in a variable.

    Parameters
    ----------
    copy_from
        A generator to copy.
    state
        Three integers: the counter, low word first, and the key.
    alg
        The algorithm, by its name or number.
    """

    def __init__(self, copy_from=None, state=None, alg=None) -> None:
        if copy_from is not None:
            if state is not None or alg is not None:
                raise ValueError("Exactly one of `copy_from` and (`state`, `alg`) may be given.")
            state, alg = copy_from.state.read_value(), copy_from.algorithm
        self._alg = _algorithm(Algorithm.PHILOX if alg is None else alg)
        self._state_var = Variable(
            convert_to_tensor(state, _dtypes.int64), trainable=False, name="StateVar"
        )

    @classmethod
    def from_seed(cls, seed, alg=None):
        """Make a generator from a seed: one integer, or up to three."""
        values = seed if isinstance(seed, list | tuple) else [seed]
        words = [_signed(int(v)) for v in values][:3]
        return cls(state=words + [0] * (3 - len(words)), alg=alg)

    @classmethod
    def from_state(cls, state, alg=None):
        """Make a generator from a state."""
        return cls(state=state, alg=alg)

    @classmethod
    def from_key_counter(cls, key, counter, alg=None):
        """Make a generator from a key and a counter of two words."""
        words = [_signed(int(counter[0])), _signed(int(counter[1])), _signed(int(key))]
        return cls(state=words, alg=alg)

    @classmethod
    def from_non_deterministic_state(cls, alg=None):
        """Make a generator that is different each time."""
        words = [_signed(_python_random.SystemRandom().getrandbits(64)) for _ in _builtins.range(3)]
        return cls(state=words, alg=alg)

    @property
    def state(self):
        """The variable that holds the state."""
        return self._state_var

    @property
    def key(self):
        """The key."""
        return self._state_var[2]

    @property
    def algorithm(self) -> int:
        """The number of the algorithm."""
        return self._alg

    def reset(self, state) -> None:
        """Set the state."""
        self._state_var.assign(convert_to_tensor(state, _dtypes.int64))

    def reset_from_seed(self, seed) -> None:
        """Start anew from a seed."""
        self.reset(Generator.from_seed(seed).state.read_value())

    def skip(self, delta):
        """Move on as if so many numbers had been drawn; returns the state before."""
        if isinstance(delta, int):
            delta = convert_to_tensor(delta, _dtypes.uint64)
        else:
            delta = ops["Cast"](convert_to_tensor(delta), DstT=_dtypes.uint64)
        if self._alg != 1:
            raise errors.UnimplementedError(
                None, None, "Non-XLA devices don't support the ThreeFry algorithm."
            )
        return ops["RngReadAndSkip"](self._state_var.handle, 1, delta)

    def _prepare(self, sizes):
        static = sizes.graph._ints(sizes) if not isinstance(sizes, _mica.TFEagerTensor) else None
        if isinstance(sizes, _mica.TFEagerTensor):
            static = [int(n) for n in sizes.numpy()]
        if static is not None and None not in static:
            count = 1
            for n in static:
                count *= n
        else:
            count = cast(reduce_prod(sizes), _dtypes.uint64)
        state = self.skip(count)
        words = ops["Bitcast"](state, type=_dtypes.uint64)
        return words[2:3], words[:2]

    def normal(self, shape, mean=0.0, stddev=1.0, dtype=_dtypes.float32, name=None):
        """Return normal numbers."""
        dtype = _float(dtype)
        sizes = _vector(shape)
        key, counter = self._prepare(sizes)
        x = ops["StatelessRandomNormalV2"](sizes, key, counter, 1, dtype=dtype)
        return _moved(x, mean, stddev, dtype)

    def truncated_normal(self, shape, mean=0.0, stddev=1.0, dtype=_dtypes.float32, name=None):
        """Return truncated normal numbers."""
        dtype = _float(dtype)
        sizes = _vector(shape)
        key, counter = self._prepare(sizes)
        x = ops["StatelessTruncatedNormalV2"](sizes, key, counter, 1, dtype=dtype)
        return _moved(x, mean, stddev, dtype)

    def uniform(self, shape, minval=0, maxval=None, dtype=_dtypes.float32, name=None):
        """Return uniform numbers."""
        dtype = _dtypes.as_dtype(dtype)
        if dtype.is_integer and (minval is not None) and maxval is None:
            raise ValueError(f"Must specify maxval for integer dtype {dtype!r}")
        sizes = _vector(shape)
        key, counter = self._prepare(sizes)
        return _uniform_of(sizes, key, counter, minval, maxval, dtype)

    def uniform_full_int(self, shape, dtype=_dtypes.uint64, name=None):
        """Return integers with all bits random."""
        dtype = _dtypes.as_dtype(dtype)
        sizes = _vector(shape)
        key, counter = self._prepare(sizes)
        return ops["StatelessRandomUniformFullIntV2"](
            sizes, key, counter, 1, dtype=dtype, name=name
        )

    def make_seeds(self, count=1):
        """Return seeds for stateless ops, one per column."""
        low = self.uniform_full_int([count], _dtypes.int64)
        return ops["Pack"]([low, ops["ZerosLike"](low)])

    def split(self, count=1) -> list:
        """Return several generators made from this one."""
        keys = self.uniform_full_int([count], _dtypes.int64)
        zero = convert_to_tensor(0, _dtypes.int64)
        states = [ops["Pack"]([zero, zero, keys[i]]) for i in _builtins.range(count)]
        return [Generator(state=state, alg=self._alg) for state in states]


def _signed(value: int) -> int:
    value %= 2**64
    return value - 2**64 if value >= 2**63 else value


_global_generator: Generator | None = None


def get_global_generator() -> Generator:
    """Return the generator that all share."""
    global _global_generator
    if _global_generator is None:
        with init_scope():
            if _global_seed is None:
                _global_generator = Generator.from_non_deterministic_state()
            else:
                _global_generator = Generator.from_seed(_global_seed)
    return _global_generator


def set_global_generator(generator: Generator) -> None:
    """Replace the generator that all share."""
    global _global_generator
    _global_generator = generator


def create_rng_state(seed, alg):
    """Return the state that a seed stands for."""
    return Generator.from_seed(seed, alg).state.read_value()


@_namespace
class experimental:
    """tf.random.experimental."""

    Generator = Generator
    Algorithm = Algorithm
    get_global_generator = staticmethod(get_global_generator)
    set_global_generator = staticmethod(set_global_generator)
    stateless_split = staticmethod(split)
    stateless_shuffle = staticmethod(stateless_shuffle)
    stateless_fold_in = staticmethod(fold_in)
    create_rng_state = staticmethod(create_rng_state)


__getattr__ = _finder(__name__)
