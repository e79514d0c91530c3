"""tf.raw_ops: the ops as they are in the table, all arguments by name."""

from .. import _mica


def __getattr__(name: str):
    try:
        return _mica.tf_ops[name]
    except KeyError:
        raise AttributeError(f"module 'tensorflow.raw_ops' has no attribute '{name}'") from None


def __dir__():
    return sorted(_mica.tf_ops)
