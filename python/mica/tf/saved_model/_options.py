"""How models are saved and loaded."""

from __future__ import annotations

import enum


class VariablePolicy(enum.Enum):
    """What is kept of the devices of variables."""

    NONE = None
    SAVE_VARIABLE_DEVICES = "save_variable_devices"
    EXPAND_DISTRIBUTED_VARIABLES = "expand_distributed_variables"


class SaveOptions:
    """Options of tf.saved_model.save.

    `function_aliases` names functions for programs that look for them in the file. The options that
    speak of devices and custom gradients are kept and change nothing.
    """

    def __init__(
        self,
        namespace_whitelist=None,
        save_debug_info: bool = False,
        function_aliases: dict | None = None,
        experimental_debug_stripper: bool = False,
        experimental_io_device: str | None = None,
        experimental_variable_policy=None,
        experimental_custom_gradients: bool = True,
        experimental_image_format: bool = False,
        experimental_skip_saver: bool = False,
        experimental_sharding_callback=None,
        extra_tags=None,
    ) -> None:
        if experimental_image_format:
            raise NotImplementedError("experimental_image_format is not there")
        self.namespace_whitelist = (
            None if namespace_whitelist is None else list(namespace_whitelist)
        )
        self.save_debug_info = save_debug_info
        self.function_aliases = dict(function_aliases or {})
        self.experimental_debug_stripper = experimental_debug_stripper
        self.experimental_io_device = experimental_io_device
        self.experimental_variable_policy = experimental_variable_policy
        self.experimental_custom_gradients = experimental_custom_gradients
        self.experimental_image_format = experimental_image_format
        self.experimental_skip_saver = experimental_skip_saver
        self.experimental_sharding_callback = experimental_sharding_callback
        self.extra_tags = extra_tags


class LoadOptions:
    """Options of tf.saved_model.load.

    With `experimental_skip_checkpoint` variables keep the zeros they are made with.
    """

    def __init__(
        self,
        allow_partial_checkpoint: bool = False,
        experimental_io_device: str | None = None,
        experimental_skip_checkpoint: bool = False,
        experimental_variable_policy=None,
        experimental_load_function_aliases: bool = False,
    ) -> None:
        self.allow_partial_checkpoint = allow_partial_checkpoint
        self.experimental_io_device = experimental_io_device
        self.experimental_skip_checkpoint = experimental_skip_checkpoint
        self.experimental_variable_policy = experimental_variable_policy
        self.experimental_load_function_aliases = experimental_load_function_aliases
