"""Which of TensorFlow's two manners a program has: ops at once, or a graph that sessions run."""

from __future__ import annotations

from .... import _mica
from ..._context import executing_eagerly, graph_of_variables
from ..._devices import set_log_placement
from ..._session import disable_eager_execution as _disable
from ..._session import enable_eager_execution as _enable
from ..._session import get_default_graph, reset_default_graph
from ...random import get_seed, set_seed


def disable_eager_execution() -> None:
    """Add ops to the default graph from now on, for sessions to run."""
    _disable()


def disable_v2_behavior() -> None:
    """As disable_eager_execution."""
    _disable()


def enable_eager_execution(config=None, device_policy=None, execution_mode=None) -> None:
    """Run ops at once."""
    if device_policy is not None or execution_mode is not None:
        raise NotImplementedError(
            f"enable_eager_execution: device_policy={device_policy}, "
            f"execution_mode={execution_mode}: leave them out"
        )
    if config is not None and getattr(config, "log_device_placement", False):
        set_log_placement(True)
    _enable()


def enable_v2_behavior() -> None:
    """Run ops at once, as TensorFlow 2 does."""
    _enable()


def executing_eagerly_outside_functions() -> bool:
    """Whether ops outside of functions run at once."""
    return graph_of_variables() is None


def enable_resource_variables() -> None:
    """Make variables resources: all are."""


def disable_resource_variables() -> None:
    """Refuse: variables are resources."""
    raise NotImplementedError("disable_resource_variables: variables are resources")


def resource_variables_enabled() -> bool:
    """Whether variables are resources: they are."""
    return True


def enable_tensor_equality() -> None:
    """Compare tensors and variables by their values with == and !=."""
    _mica.tf_set_equality(True)


def disable_tensor_equality() -> None:
    """Compare tensors and variables by what they are with == and !=, so that they are keys."""
    _mica.tf_set_equality(False)


def set_random_seed(seed) -> None:
    """Set the seed of the graph, or of ops that run at once."""
    if executing_eagerly():
        set_seed(seed)
    else:
        get_default_graph().seed = seed


__all__ = ["get_seed", "reset_default_graph"]
