"""Optimizers of TensorFlow 1: `minimize` adds operations to a graph, or runs at once."""

from __future__ import annotations

from ... import _dtypes
from ..._array import ones, where, zeros
from ..._context import building, executing_eagerly, graph_of_variables
from ..._core import convert_to_tensor, ops
from ..._effects import control_dependencies, group
from ..._gradients import gradients
from ..._names import _set_scope, current_scope, name_scope
from ..._tape import GradientTape
from ...math import abs as _abs
from ...math import rsqrt, sign, sqrt, square
from ._scopes import GraphKeys, Variable


def _unscoped(initial_value, name: str, dtype):
    """A variable that is not trained, of this very name."""
    graph = graph_of_variables()
    with building(graph):
        before = current_scope()
        _set_scope(graph, "")
        try:
            return Variable(initial_value, trainable=False, name=name, dtype=dtype)
        finally:
            _set_scope(graph, before)


class Optimizer:
    """The base of optimizers.

    A subclass makes slots in `_create_slots` and says in `_apply_dense` what a gradient does to a
    variable; `_prepare` comes before, `_finish` after all of them.
    """

    GATE_NONE, GATE_OP, GATE_GRAPH = 0, 1, 2

    def __init__(self, use_locking, name) -> None:
        if not name:
            raise ValueError("Must specify the optimizer name")
        self._use_locking, self._name = use_locking, name
        self._slots: dict = {}  # slot name -> {variable's id: variable}
        self._others: dict = {}  # (name, graph) -> variable

    def get_name(self) -> str:
        """Return the name."""
        return self._name

    # ---- gradients -------------------------------------------------------------------------------

    def minimize(
        self,
        loss,
        global_step=None,
        var_list=None,
        gate_gradients=GATE_OP,
        aggregation_method=None,
        colocate_gradients_with_ops=False,
        name=None,
        grad_loss=None,
    ):
        """Add compute_gradients and apply_gradients."""
        pairs = self.compute_gradients(
            loss,
            var_list,
            gate_gradients,
            aggregation_method,
            colocate_gradients_with_ops,
            grad_loss,
        )
        if all(gradient is None for gradient, _ in pairs):
            names = [str(v) for _, v in pairs]
            raise ValueError(
                "No gradients provided for any variable, check your graph for ops that do not "
                f"support gradients, between variables {names} and loss {loss}."
            )
        return self.apply_gradients(pairs, global_step, name)

    def compute_gradients(
        self,
        loss,
        var_list=None,
        gate_gradients=GATE_OP,
        aggregation_method=None,
        colocate_gradients_with_ops=False,
        grad_loss=None,
    ) -> list:
        """Return pairs of a gradient and a variable, for the trainable ones by default."""
        if gate_gradients not in (self.GATE_NONE, self.GATE_OP, self.GATE_GRAPH):
            raise ValueError(
                "gate_gradients must be one of: Optimizer.GATE_NONE, Optimizer.GATE_OP, "
                f"Optimizer.GATE_GRAPH.  Not {gate_gradients}"
            )
        del colocate_gradients_with_ops  # ops run where they are put when they are lowered
        if callable(loss):
            return self._eager_gradients(loss, var_list, grad_loss)
        if executing_eagerly():
            raise RuntimeError(
                "`loss` passed to Optimizer.compute_gradients should be a function when eager "
                "execution is enabled."
            )
        self._check_dtype(loss)
        if var_list is None:
            graph = graph_of_variables()
            var_list = graph.get_collection(GraphKeys.TRAINABLE_VARIABLES)
        variables = list(var_list) if isinstance(var_list, (list, tuple)) else [var_list]
        if not variables:
            raise ValueError("No variables to optimize.")
        found = gradients(
            loss,
            variables,
            grad_ys=grad_loss,
            gate_gradients=gate_gradients == self.GATE_OP,
            aggregation_method=aggregation_method,
        )
        return list(zip(found, variables, strict=True))

    def _eager_gradients(self, loss, var_list, grad_loss) -> list:
        with GradientTape() as tape:
            if var_list is not None:
                tape.watch(var_list)
            value = loss()
            if var_list is None:
                var_list = tape.watched_variables()
        variables = list(var_list)
        found = tape.gradient(value, variables, grad_loss)
        return list(zip(found, variables, strict=True))

    @staticmethod
    def _check_dtype(loss) -> None:
        allowed = (_dtypes.float16, _dtypes.bfloat16, _dtypes.float32, _dtypes.float64)
        if loss.dtype not in (*allowed, _dtypes.complex64, _dtypes.complex128):
            names = [d.name for d in allowed]
            raise ValueError(f"Invalid type {loss.dtype!r} for {loss.name}, expected: {names}.")

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """Return the operation that changes the variables and counts the step."""
        pairs = [tuple(pair) for pair in grads_and_vars]
        if not pairs:
            raise ValueError("No variables provided.")
        given = [(g, v) for g, v in pairs if g is not None]
        if not given:
            raise ValueError(
                f"No gradients provided for any variable: {[str(v) for _, v in pairs]}."
            )
        self._create_slots([v for _, v in given])
        with name_scope(name or self._name):
            self._prepare()
            updates = [self._update(gradient, variable) for gradient, variable in given]
            with control_dependencies(updates):
                finish = self._finish()
            done = group(*updates, *finish)
            if global_step is not None:
                with control_dependencies([done] if done is not None else []):
                    step = global_step.assign_add(
                        convert_to_tensor(1, global_step.dtype), read_value=False
                    )
                done = step if step is not None else done
        graph = graph_of_variables()
        if graph is not None and done is not None:
            train_ops = graph.get_collection_ref(GraphKeys.TRAIN_OP)
            if done not in train_ops:
                train_ops.append(done)
        return done

    def _update(self, gradient, variable):
        gradient = convert_to_tensor(gradient)
        done = self._apply_dense(gradient, variable)
        if variable.constraint is None:
            return done
        with control_dependencies([done]):
            return variable.assign(variable.constraint(variable._read()), read_value=False)

    # ---- what a subclass says --------------------------------------------------------------------

    def _create_slots(self, var_list) -> None:
        """Make the slots of the variables: none here."""

    def _prepare(self) -> None:
        """Make tensors of numbers: none here."""

    def _apply_dense(self, grad, var):
        """Return the operation that changes a variable."""
        raise NotImplementedError(f"{type(self).__name__}._apply_dense({grad}, {var})")

    def _finish(self) -> list:
        """Return operations that run after all variables have changed."""
        return []

    # ---- slots -----------------------------------------------------------------------------------

    def _slot(self, variable, slot_name: str, first, op_name: str):
        """The slot of a variable; `first(shape, dtype)` gives what it starts with."""
        slots = self._slots.setdefault(slot_name, {})
        if variable._unique_id not in slots:
            slots[variable._unique_id] = (
                variable,
                _unscoped(
                    lambda: first(variable.shape, variable.dtype),
                    f"{variable._shared_name}/{op_name}",
                    variable.dtype,
                ),
            )
        return slots[variable._unique_id][1]

    def _other(self, name: str, first):
        """A variable that all share, of the graph that is being built."""
        key = (name, graph_of_variables())
        if key not in self._others:
            self._others[key] = Variable(first, trainable=False, name=name)
        return self._others[key]

    def get_slot(self, var, name):
        """Return a slot of a variable, or None."""
        return self._slots.get(name, {}).get(var._unique_id, (None, None))[1]

    def get_slot_names(self) -> list:
        """Return the names of the slots."""
        return sorted(self._slots)

    def variables(self) -> list:
        """Return the variables that it holds: slots, and what all variables share."""
        found = [v for (_, graph), v in self._others.items() if graph is graph_of_variables()]
        found += [slot for slots in self._slots.values() for _, slot in slots.values()]
        return sorted(found, key=lambda v: v.name)


def _number(value, variable):
    """A hyperparameter, which may be a function, as a tensor of the variable's dtype."""
    value = value() if callable(value) and not hasattr(value, "dtype") else value
    tensor = convert_to_tensor(value) if hasattr(value, "dtype") else None
    if tensor is None:
        return convert_to_tensor(value, variable.dtype)
    return tensor if tensor.dtype == variable.dtype else ops["Cast"](tensor, DstT=variable.dtype)


class GradientDescentOptimizer(Optimizer):
    """Steps against the gradient."""

    def __init__(self, learning_rate, use_locking=False, name="GradientDescent") -> None:
        super().__init__(use_locking, name)
        self._rate = learning_rate

    def _apply_dense(self, grad, var):
        return var.assign_sub(_number(self._rate, var) * grad, read_value=False)


class MomentumOptimizer(Optimizer):
    """Steps against a decaying sum of gradients."""

    def __init__(
        self, learning_rate, momentum, use_locking=False, name="Momentum", use_nesterov=False
    ) -> None:
        super().__init__(use_locking, name)
        self._rate, self._momentum, self._use_nesterov = learning_rate, momentum, use_nesterov

    def _create_slots(self, var_list) -> None:
        for variable in var_list:
            self._slot(variable, "momentum", zeros, self._name)

    def _apply_dense(self, grad, var):
        slot, rate = self.get_slot(var, "momentum"), _number(self._rate, var)
        momentum = _number(self._momentum, var)
        total = slot._read() * momentum + grad
        step = grad * rate + total * momentum * rate if self._use_nesterov else total * rate
        return group(slot.assign(total, read_value=False), var.assign_sub(step, read_value=False))


class AdamOptimizer(Optimizer):
    """Adam: steps by moving averages of the gradient and of its square."""

    def __init__(
        self,
        learning_rate=0.001,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-8,
        use_locking=False,
        name="Adam",
    ) -> None:
        super().__init__(use_locking, name)
        self._rate, self._beta1, self._beta2 = learning_rate, beta1, beta2
        self._epsilon = epsilon

    def _powers(self):
        return (
            self._other(
                "beta1_power", lambda: convert_to_tensor(_plain(self._beta1), _dtypes.float32)
            ),
            self._other(
                "beta2_power", lambda: convert_to_tensor(_plain(self._beta2), _dtypes.float32)
            ),
        )

    def _create_slots(self, var_list) -> None:
        self._powers()
        for variable in var_list:
            self._slot(variable, "m", zeros, self._name)
            self._slot(variable, "v", zeros, self._name)

    def _apply_dense(self, grad, var):
        first, second = (_number(p._read(), var) for p in self._powers())
        beta1, beta2 = _number(self._beta1, var), _number(self._beta2, var)
        rate = _number(self._rate, var) * sqrt(1 - second) / (1 - first)
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        mean = m._read() + (grad - m._read()) * (1 - beta1)
        spread = v._read() + (square(grad) - v._read()) * (1 - beta2)
        step = mean * rate / (sqrt(spread) + _number(self._epsilon, var))
        return group(
            m.assign(mean, read_value=False),
            v.assign(spread, read_value=False),
            var.assign_sub(step, read_value=False),
        )

    def _finish(self) -> list:
        first, second = self._powers()
        return [
            first.assign(first._read() * _number(self._beta1, first), read_value=False),
            second.assign(second._read() * _number(self._beta2, second), read_value=False),
        ]


def _plain(value):
    return value() if callable(value) else value


class AdagradOptimizer(Optimizer):
    """Steps by the root of the sum of squares of all gradients so far."""

    def __init__(
        self, learning_rate, initial_accumulator_value=0.1, use_locking=False, name="Adagrad"
    ) -> None:
        if initial_accumulator_value <= 0.0:
            raise ValueError(
                f"initial_accumulator_value must be positive: {initial_accumulator_value}"
            )
        super().__init__(use_locking, name)
        self._rate, self._initial = learning_rate, initial_accumulator_value

    def _create_slots(self, var_list) -> None:
        for variable in var_list:
            self._slot(variable, "accumulator", self._first, self._name)

    def _first(self, shape, dtype):
        return ones(shape, dtype) * convert_to_tensor(self._initial, dtype)

    def _apply_dense(self, grad, var):
        slot = self.get_slot(var, "accumulator")
        total = slot._read() + square(grad)
        step = grad * _number(self._rate, var) * rsqrt(total)
        return group(slot.assign(total, read_value=False), var.assign_sub(step, read_value=False))


class AdadeltaOptimizer(Optimizer):
    """Steps whose size follows from earlier steps."""

    def __init__(
        self, learning_rate=0.001, rho=0.95, epsilon=1e-8, use_locking=False, name="Adadelta"
    ) -> None:
        super().__init__(use_locking, name)
        self._rate, self._rho, self._epsilon = learning_rate, rho, epsilon

    def _create_slots(self, var_list) -> None:
        for variable in var_list:
            self._slot(variable, "accum", zeros, self._name)
            self._slot(variable, "accum_update", zeros, self._name)

    def _apply_dense(self, grad, var):
        squares, steps = self.get_slot(var, "accum"), self.get_slot(var, "accum_update")
        rho, epsilon = _number(self._rho, var), _number(self._epsilon, var)
        total = squares._read() * rho + square(grad) * (1 - rho)
        step = sqrt(steps._read() + epsilon) * rsqrt(total + epsilon) * grad
        return group(
            squares.assign(total, read_value=False),
            steps.assign(steps._read() * rho + square(step) * (1 - rho), read_value=False),
            var.assign_sub(step * _number(self._rate, var), read_value=False),
        )


class RMSPropOptimizer(Optimizer):
    """Steps by the root of a moving average of squares."""

    def __init__(
        self,
        learning_rate,
        decay=0.9,
        momentum=0.0,
        epsilon=1e-10,
        use_locking=False,
        centered=False,
        name="RMSProp",
    ) -> None:
        super().__init__(use_locking, name)
        self._rate, self._decay, self._momentum = learning_rate, decay, momentum
        self._epsilon, self._is_centered = epsilon, centered

    def _create_slots(self, var_list) -> None:
        for variable in var_list:
            self._slot(variable, "rms", ones, self._name)
            if self._is_centered:
                self._slot(variable, "mg", zeros, self._name)
            self._slot(variable, "momentum", zeros, self._name)

    def _apply_dense(self, grad, var):
        rms, slot = self.get_slot(var, "rms"), self.get_slot(var, "momentum")
        rest = 1 - _number(self._decay, var)
        squares = rms._read() + (square(grad) - rms._read()) * rest
        below, updates = squares + _number(self._epsilon, var), []
        if self._is_centered:
            mg = self.get_slot(var, "mg")
            mean = mg._read() + (grad - mg._read()) * rest
            below = below - square(mean)
            updates.append(mg.assign(mean, read_value=False))
        step = slot._read() * _number(self._momentum, var)
        step = step + grad * _number(self._rate, var) * rsqrt(below)
        return group(
            rms.assign(squares, read_value=False),
            slot.assign(step, read_value=False),
            var.assign_sub(step, read_value=False),
            *updates,
        )


class FtrlOptimizer(Optimizer):
    """Follows the regularised leader: steps that make weights exactly zero."""

    def __init__(
        self,
        learning_rate,
        learning_rate_power=-0.5,
        initial_accumulator_value=0.1,
        l1_regularization_strength=0.0,
        l2_regularization_strength=0.0,
        use_locking=False,
        name="Ftrl",
        accum_name=None,
        linear_name=None,
        l2_shrinkage_regularization_strength=0.0,
        beta=None,
    ) -> None:
        for value, text, ok in (
            (
                initial_accumulator_value,
                "initial_accumulator_value",
                initial_accumulator_value >= 0,
            ),
            (
                l1_regularization_strength,
                "l1_regularization_strength",
                l1_regularization_strength >= 0,
            ),
            (
                l2_regularization_strength,
                "l2_regularization_strength",
                l2_regularization_strength >= 0,
            ),
        ):
            if not ok:
                raise ValueError(f"{text} {value} needs to be greater than or equal to zero")
        if learning_rate_power > 0.0:
            raise ValueError(
                f"learning_rate_power {learning_rate_power} needs to be less than or equal to zero"
            )
        super().__init__(use_locking, name)
        self._rate, self._power = learning_rate, learning_rate_power
        self._initial, self._l1 = initial_accumulator_value, l1_regularization_strength
        self._l2 = l2_regularization_strength
        self._shrinkage = l2_shrinkage_regularization_strength
        self._beta = beta or 0.0
        self._names = accum_name or name, linear_name or name

    def _create_slots(self, var_list) -> None:
        for variable in var_list:
            self._slot(variable, "accum", self._first, self._names[0])
            self._slot(variable, "linear", zeros, self._names[1])

    def _first(self, shape, dtype):
        return ones(shape, dtype) * convert_to_tensor(self._initial, dtype)

    def _apply_dense(self, grad, var):
        accum, linear = self.get_slot(var, "accum"), self.get_slot(var, "linear")
        rate, l1 = _number(self._rate, var), _number(self._l1, var)
        value, before = var._read(), accum._read()
        after = before + square(grad)
        power = _number(-self._power, var)
        shrunk = grad + 2 * _number(self._shrinkage, var) * value if self._shrinkage else grad
        total = linear._read() + shrunk - (after**power - before**power) / rate * value
        l2 = _number(self._l2, var) + _number(self._beta, var) / (2 * rate)
        new = where(
            _abs(total) > l1,
            (sign(total) * l1 - total) / (after**power / rate + 2 * l2),
            ops["ZerosLike"](value),
        )
        return group(
            linear.assign(total, read_value=False),
            accum.assign(after, read_value=False),
            var.assign(new, read_value=False),
        )


class ExponentialMovingAverage:
    """Shadows of variables that follow them slowly.

    Parameters
    ----------
    decay
        How much of the shadow stays at each step.
    num_updates
        A count of steps: the decay is at most (1 + count) / (10 + count).
    zero_debias
        Whether shadows begin at zero and are corrected for that; tensors' always begin there.
    """

    def __init__(
        self, decay, num_updates=None, zero_debias=False, name="ExponentialMovingAverage"
    ) -> None:
        if zero_debias:
            raise NotImplementedError(
                "ExponentialMovingAverage(zero_debias=True): shadows begin at the variables' first "
                "values; leave zero_debias out"
            )
        self._decay, self._count, self._name = decay, num_updates, name
        self._averages: dict = {}

    @property
    def name(self) -> str:
        """The name, which shadows' names end with."""
        return self._name

    def apply(self, var_list=None):
        """Return the operation that moves the shadows; makes them."""
        if var_list is None:
            var_list = graph_of_variables().get_collection(GraphKeys.TRAINABLE_VARIABLES)
        for variable in var_list:
            if variable._unique_id in self._averages:
                continue
            self._averages[variable._unique_id] = _unscoped(
                lambda v=variable: v.initialized_value(),
                f"{variable._shared_name}/{self._name}",
                variable.dtype,
            )
            graph = graph_of_variables()
            if graph is not None:
                graph.add_to_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, variable)
        updates = []
        with name_scope(self._name):
            for variable in var_list:
                shadow, decay = self.average(variable), _number(self._decay, variable)
                if self._count is not None:
                    count = _number(self._count, variable)
                    decay = ops["Minimum"](decay, (1 + count) / (10 + count))
                step = (shadow._read() - variable._read()) * (1 - decay)
                updates.append(shadow.assign_sub(step, read_value=False))
            return group(*updates)

    def average(self, var):
        """Return the shadow of a variable, or None."""
        return self._averages.get(var._unique_id)

    def average_name(self, var) -> str:
        """Return the name that the shadow of a variable has in a checkpoint."""
        return f"{var._shared_name}/{self._name}"

    def variables_to_restore(self, moving_avg_variables=None) -> dict:
        """Return what a Saver restores so that variables start with their averages, by names."""
        graph = graph_of_variables()
        if moving_avg_variables is None:
            moving = graph.get_collection(GraphKeys.TRAINABLE_VARIABLES)
            moving += graph.get_collection(GraphKeys.MOVING_AVERAGE_VARIABLES)
        else:
            moving = list(moving_avg_variables)
        averaged = {v._unique_id: v for v in moving}
        found = {self.average_name(v): v for v in averaged.values()}
        shadows = {v._unique_id for v in self._averages.values()}
        for variable in graph.get_collection(GraphKeys.GLOBAL_VARIABLES):
            if variable._unique_id not in averaged and variable._unique_id not in shadows:
                found[variable._shared_name] = variable
        return found
