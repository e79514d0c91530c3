"""Graphs of layers, inference graphs and training graphs."""

from __future__ import annotations

import atexit
import weakref

from . import _mlcompute as _c
from ._core import Base, flags_of, public, wrap
from ._tensors import data_of, device, named_data, tensor

#: Executions that have not ended yet, with what they use.
_running: dict[object, tuple] = {}
_graphs: weakref.WeakSet[graph] = weakref.WeakSet()


@atexit.register
def _finish():
    for one in {id(running[0]): running[0] for running in list(_running.values())}.values():
        try:
            one.wait()
        except BaseException as failure:
            _c.write_unraisable(failure, one)
    for one in list(_graphs):
        one._report_failures()


@public
class graph(Base):
    """Layers and the tensors between them."""

    def __init__(self):
        self._start(_c.mlc_graph_create())

    def _start(self, handle):
        self._adopt(handle)
        self._failures = []
        self._named = {}
        _graphs.add(self)

    # ---- building --------------------------------------------------------------------------------

    def node(self, layer, sources=None, disable_update=None, loss_labels=None) -> tensor:
        """Add a layer on its sources (a tensor or a list) and return its first result.

        With disable_update its parameters are not trained. A loss layer takes loss_labels.
        """
        if isinstance(sources, tensor):
            sources = [sources]
        if loss_labels is not None:
            if isinstance(loss_labels, tensor):
                loss_labels = [loss_labels]
            result = _c.mlc_graph_node_loss(self, layer, sources, loss_labels)
        elif disable_update is not None:
            result = _c.mlc_graph_node_disable_update(self, layer, sources, disable_update)
        else:
            result = _c.mlc_graph_node(self, layer, sources)
        return wrap(result, self)

    def add_layer(self, layer, tensors) -> tensor:
        """Add a layer on its sources and return its first result."""
        return self.node(layer, tensors)

    def split(self, source, split_count=None, dimension=None, *, split_section_lengths=None):
        """Return the parts of a tensor: so many, or of these lengths."""
        if (split_count is None) == (split_section_lengths is None) or dimension is None:
            raise ValueError("[split] give split_count or split_section_lengths, and dimension")
        if split_section_lengths is None:
            return wrap(_c.mlc_graph_split(self, source, split_count, dimension), self)
        parts = _c.mlc_graph_split_sections(self, source, split_section_lengths, dimension)
        return wrap(parts, self)

    def concatenate(self, sources, dimension):
        """Return tensors one after another along a dimension."""
        return wrap(_c.mlc_graph_concatenate(self, sources, dimension), self)

    def reshape(self, shape, source):
        """Return the same elements in another shape."""
        return wrap(_c.mlc_graph_reshape(self, shape, source), self)

    def transpose(self, dimensions, source):
        """Return a tensor with its dimensions in another order."""
        return wrap(_c.mlc_graph_transpose(self, dimensions, source), self)

    def select(self, sources, condition):
        """Return the first source where the condition is true, else the second."""
        return wrap(_c.mlc_graph_select(self, sources, condition), self)

    def scatter(self, dimension, source, indices, copy_from, reduction_type="None"):
        """Return a copy of copy_from with the source put or added at the indices."""
        return wrap(
            _c.mlc_graph_scatter(self, dimension, source, indices, copy_from, reduction_type), self
        )

    def gather(self, dimension, source, indices):
        """Return elements at indices along a dimension."""
        return wrap(_c.mlc_graph_gather(self, dimension, source, indices), self)

    # ---- checking --------------------------------------------------------------------------------

    def source_tensors_for_layer(self, layer):
        """Return the sources of a layer; none for one that is not in the graph."""
        return wrap(_c.mlc_graph_source_tensors(self, layer), self)

    def result_tensors_for_layer(self, layer):
        """Return the results of a layer; none for one that is not in the graph."""
        return wrap(_c.mlc_graph_result_tensors(self, layer), self)

    def layer_seconds(self, layer):
        """Return the seconds a layer took in the last execution with PER_LAYER_PROFILING."""
        return _c.mlc_graph_layer_seconds(self, layer)

    # ---- data ------------------------------------------------------------------------------------

    def bind_and_write_data(self, data, for_inputs, to_device, batch_size=0, synchronous=True):
        """Bind data to tensors by name and write it to a device."""
        data = named_data(data, for_inputs)
        return _c.mlc_graph_bind_and_write(
            self, data, for_inputs, to_device, batch_size, synchronous
        )

    def wait(self):
        """Wait for all executions; raise the first error of one, or of a completion handler."""
        try:
            _c.mlc_graph_wait(self)
        except Exception as error:
            if self._failures and "completion handler" in str(error):
                raise self._failures.pop(0) from None
            raise
        if self._failures:
            raise self._failures.pop(0)
        return True

    # ---- what inference and training graphs share ------------------------------------------------

    def _device(self, given):
        return device() if given is None else device(given) if isinstance(given, str) else given

    def _compile(self, plain, constants, given, options, inputs, data):
        options = flags_of("graph_compilation_options", options)
        given = self._device(given)
        if inputs is None and data is None:
            return plain(self, int(options), given)
        return constants(self, int(options), given, inputs, named_data(data, inputs))

    def _declare(self, *groups):
        for group in groups:
            if isinstance(group, dict):
                self._named.update(group)
        return True

    def _execute(
        self, run, batch_size, options, handler, inputs=None, labels=None, weights=None,
        outputs=None,
    ):  # fmt: skip
        if handler is not None and not callable(handler):
            raise TypeError("[execute] the completion handler must be callable")
        options = flags_of("execution_options", options)
        data = [named_data(given, self._named) for given in (inputs, labels, weights)]
        data.append(named_data(outputs, self._named, writable=True))
        key = object()
        now = int(options) & 2
        failures = [] if now else self._failures

        def completed(result, error, seconds):
            _running.pop(key, None)
            if handler is None:
                return None
            try:
                handler(wrap(result, self), error, seconds)
            except BaseException as failure:
                failures.append(failure)
                return f"[execute] completion handler raised {type(failure).__name__}: {failure}"
            return None

        _running[key] = (self, data)
        try:
            run(self, (*data, batch_size, int(options), completed))
        except Exception:
            _running.pop(key, None)
            if now and failures:
                raise failures[0] from None
            raise
        return True

    def _report_failures(self):
        while self._failures:
            _c.write_unraisable(self._failures.pop(0), self)

    def __del__(self):
        if getattr(self, "_failures", None):
            self._report_failures()


@public
class inference_graph(graph):
    """Graphs, wrapped for running forward."""

    def __init__(self, graph_objects):
        self._start(_c.mlc_inference_graph_create(graph_objects))
        self._graph_objects = graph_objects

    def add_inputs(self, inputs, loss_labels=None, loss_label_weights=None):
        """Name the tensors that executions get data for."""
        _c.mlc_inference_graph_add_inputs(self, inputs, loss_labels, loss_label_weights)
        return self._declare(inputs, loss_labels, loss_label_weights)

    def add_outputs(self, outputs):
        """Name the tensors whose data executions give."""
        _c.mlc_inference_graph_add_outputs(self, outputs)
        return self._declare(outputs)

    def compile(self, device=None, options=0, input_tensors=None, input_tensors_data=None):
        """Compile for a device; named tensors with data are constants from now on."""
        return self._compile(
            _c.mlc_inference_graph_compile,
            _c.mlc_inference_graph_compile_constants,
            device,
            options,
            input_tensors,
            input_tensors_data,
        )

    def link(self, graphs):
        """Link with graphs: a result of one is an input of another without leaving the device."""
        return _c.mlc_inference_graph_link(self, graphs)

    def execute(
        self,
        inputs_data,
        batch_size=0,
        options=0,
        completion_handler=None,
        *,
        outputs_data=None,
        loss_labels_data=None,
        loss_label_weights_data=None,
    ):
        """Run forward with data by name: asynchronously, unless the options say SYNCHRONOUS.

        The completion handler gets the result (a tensor or None), the error (an exception or
        None) and the seconds it took. What it reads of the graph's results is this execution's,
        whatever others have computed by then. An input that is not given keeps the data it was
        given last.
        """
        return self._execute(
            _c.mlc_inference_graph_execute, batch_size, options, completion_handler, inputs_data,
            loss_labels_data, loss_label_weights_data, outputs_data,
        )  # fmt: skip


@public
class training_graph(graph):
    """Graphs, wrapped for training: with a loss, and with an optimizer."""

    def __init__(self, graph_objects, loss_layer=None, optimizer=None):
        self._start(_c.mlc_training_graph_create(graph_objects, loss_layer, optimizer))
        self._graph_objects = graph_objects

    def add_inputs(self, inputs, loss_labels=None, loss_label_weights=None):
        """Name the tensors that executions get data for."""
        _c.mlc_training_graph_add_inputs(self, inputs, loss_labels, loss_label_weights)
        return self._declare(inputs, loss_labels, loss_label_weights)

    def add_outputs(self, outputs):
        """Name the tensors whose data executions give."""
        _c.mlc_training_graph_add_outputs(self, outputs)
        return self._declare(outputs)

    def stop_gradient_for_tensors(self, tensors):
        """Let no gradient flow back through tensors."""
        return _c.mlc_training_graph_stop_gradient(self, tensors)

    def set_training_tensor_parameters(self, parameters):
        """Train input tensors as well."""
        return _c.mlc_training_graph_set_training_parameters(self, parameters)

    def compile(self, device=None, options=0, input_tensors=None, input_tensors_data=None):
        """Compile for a device; named tensors with data are constants from now on."""
        return self._compile(
            _c.mlc_training_graph_compile,
            _c.mlc_training_graph_compile_constants,
            device,
            options,
            input_tensors,
            input_tensors_data,
        )

    def compile_optimizer(self, optimizer):
        """Give the graph its optimizer, or another one."""
        return _c.mlc_training_graph_compile_optimizer(self, optimizer)

    def link(self, graphs):
        """Link with graphs: results, and gradients of the backward pass, stay on the device."""
        return _c.mlc_training_graph_link(self, graphs)

    # ---- gradients -------------------------------------------------------------------------------

    def gradient_tensor_for_input(self, input):
        """Return the gradient with respect to an input."""
        return wrap(_c.mlc_training_graph_gradient_tensor(self, input), self)

    def source_gradient_tensors_for_layer(self, layer):
        """Return the gradients with respect to a layer's sources."""
        return wrap(_c.mlc_training_graph_source_gradient_tensors(self, layer), self)

    def result_gradient_tensors_for_layer(self, layer):
        """Return the gradients with respect to a layer's results."""
        return wrap(_c.mlc_training_graph_result_gradient_tensors(self, layer), self)

    def gradient_data_for_parameter(self, parameter, layer=None):
        """Return the gradient of a parameter from the last separate gradient pass, an array."""
        import numpy as np

        from ._tensors import numpy_dtype

        if not isinstance(parameter, tensor):
            raise TypeError(f"[gradient_data_for_parameter] expected a tensor, got {parameter!r}")
        array = np.empty(parameter.shape, numpy_dtype(parameter.descriptor.data_type))
        _c.mlc_training_graph_gradient_data(self, parameter, layer, array)
        return array

    def allocate_user_gradient_for_tensor(self, tensor):
        """Return a tensor whose bound data is added to a result's gradient in every pass."""
        return wrap(_c.mlc_training_graph_allocate_user_gradient(self, tensor), self)

    # ---- executions ------------------------------------------------------------------------------

    def execute(
        self,
        inputs_data,
        loss_labels_data=None,
        loss_label_weights_data=None,
        batch_size=0,
        options=0,
        completion_handler=None,
        *,
        outputs_data=None,
    ):
        """Run forward, gradient and update: asynchronously, unless the options say SYNCHRONOUS.

        The completion handler gets the result (a tensor or None), the error (an exception or
        None) and the seconds it took. What it reads of the graph's results is this execution's,
        whatever others have computed by then. An input that is not given keeps the data it was
        given last.
        """
        return self._execute(
            _c.mlc_training_graph_execute, batch_size, options, completion_handler, inputs_data,
            loss_labels_data, loss_label_weights_data, outputs_data,
        )  # fmt: skip

    def execute_forward(
        self, batch_size=0, options=0, completion_handler=None, *, outputs_data=None
    ):
        """Run the forward pass alone, on data that was bound before."""
        return self._execute(
            _c.mlc_training_graph_execute_forward, batch_size, options, completion_handler,
            outputs=outputs_data,
        )  # fmt: skip

    def execute_gradient(
        self, batch_size=0, options=0, completion_handler=None, *, outputs_data=None
    ):
        """Run the gradient pass after a forward pass; gradients add up until the next update."""
        return self._execute(
            _c.mlc_training_graph_execute_gradient, batch_size, options, completion_handler,
            outputs=outputs_data,
        )  # fmt: skip

    def execute_optimizer_update(self, options=0, completion_handler=None):
        """Update the parameters with the gradients that have been added up."""
        return self._execute(
            _c.mlc_training_graph_execute_optimizer_update, 0, options, completion_handler
        )

    def synchronize_updates(self):
        """Wait, and copy all parameters and optimizer buffers with host data to the host."""
        return _c.mlc_training_graph_synchronize_updates(self)

    def bind_optimizer_data(self, data, device_data=None, with_tensor=None):
        """Give a parameter's optimizer buffers, before the first update."""
        data = [data_of(one, writable=True) for one in data]
        return _c.mlc_training_graph_bind_optimizer_data(self, data, device_data, with_tensor)
