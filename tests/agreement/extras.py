"""Values for arguments that the recipes leave at their defaults.

The calls of a function from number `FIRST` on have one or two of these beside what its recipe
draws. EXTRAS maps a function's name to {argument: values}, or a value is a function of a Draw that
gives one; EVERYWHERE maps an argument of any function.
"""

from __future__ import annotations

FIRST = 45

LAYOUTS = {"data_format": ("NCHW", "NHWC")}
WINDOWS = ({"fn": "signal.hamming_window"}, {"fn": "signal.kaiser_bessel_derived_window"}, None)
DEGREES = (2, [1, 2], 1, [2, 2])
POLICIES = ("IGNORE", "ERROR", "DEFAULT", "")
ALGORITHMS = ("philox", "threefry", "auto_select")


def dtypes(*names: str) -> tuple:
    return tuple({"d": name} for name in names)


def scalar(dtype: str, kind: str = "uniform"):
    return lambda d: d.tensor(dtype, [], kind)


def shared(names: tuple[str, ...], offers: dict) -> dict:
    """The same values for several functions."""
    return {name: offers for name in names}


ASSERTION = {"message": ("What is wrong", ""), "summarize": (1, 5)}

EVERYWHERE = {
    "validate_args": (True,),
    "validate_indices": (False,),
    "bad_indices_policy": POLICIES,
    "name": ("a_name",),
}

EXTRAS: dict[str, dict] = {
    **shared(
        (
            "assert_equal", "assert_greater", "assert_less", "debugging.assert_greater_equal",
            "debugging.assert_less_equal", "debugging.assert_near", "debugging.assert_negative",
            "debugging.assert_non_negative", "debugging.assert_non_positive",
            "debugging.assert_none_equal", "debugging.assert_positive",
        ),
        ASSERTION,
    ),
    **shared(
        (
            "assert_rank", "debugging.assert_integer", "debugging.assert_rank",
            "debugging.assert_rank_at_least", "debugging.assert_rank_in", "debugging.assert_type",
        ),
        {"message": ASSERTION["message"]},
    ),
    **shared(
        (
            "nn.avg_pool2d", "nn.max_pool2d", "nn.max_pool_with_argmax", "nn.conv2d",
            "nn.depth_to_space", "nn.space_to_depth",
        ),
        LAYOUTS,
    ),
    **shared(("nn.avg_pool", "nn.max_pool"), {"data_format": ("NCW", "NCHW", "NCDHW")}),
    **shared(("nn.avg_pool1d", "nn.max_pool1d"), {"data_format": ("NCW", "NWC")}),
    **shared(("nn.avg_pool3d", "nn.max_pool3d"), {"data_format": ("NCDHW", "NDHWC")}),
    "nn.conv1d": {"data_format": ("NCW", "NWC")},
    "nn.conv1d_transpose": {"data_format": ("NCW", "NWC"), "dilations": (1, 2)},
    **shared(
        (
            "nn.conv2d_transpose", "nn.depthwise_conv2d", "nn.separable_conv2d",
            "nn.depthwise_conv2d_backprop_filter", "nn.depthwise_conv2d_backprop_input",
        ),
        {**LAYOUTS, "dilations": DEGREES},
    ),
    **shared(
        ("nn.conv3d", "nn.conv3d_transpose"),
        {"data_format": ("NCDHW", "NDHWC"), "dilations": (1, 2, [1, 1, 2], [1, 1, 1, 1, 1])},
    ),
    **shared(
        ("nn.conv_transpose", "nn.convolution", "nn.pool"),
        {"data_format": ("NCW", "NCHW", "NHWC", "NWC"), "dilations": DEGREES},
    ),
    "clip_by_global_norm": {"use_norm": (2.0, scalar("float32", "positive"))},
    "fingerprint": {"method": ("farmhash64", "md5")},
    "get_static_value": {"partial": (True,)},
    "image.non_max_suppression_padded": {
        "score_threshold": (0.0, 0.5),
        "sorted_input": (True,),
        "canonicalized_coordinates": (True,),
        "tile_size": (2, 100),
    },
    "image.non_max_suppression_with_scores": {"soft_nms_sigma": (0.5, 1.0)},
    "image.ssim": {
        "filter_sigma": (0.5, 3.0), "k1": (0.05,), "k2": (0.1,), "return_index_map": (True,),
    },
    "image.ssim_multiscale": {"filter_sigma": (0.5, 3.0), "k1": (0.05,), "k2": (0.1,)},
    "image.stateless_sample_distorted_bounding_box": {
        "max_attempts": (1, 10), "use_image_if_no_bounding_boxes": (True,),
    },
    "image.encode_png": {"compression": (0, 9)},
    "io.decode_csv": {"select_cols": ([0], [0, 1], [1])},
    "linalg.diag": {"num_rows": (2, 4), "num_cols": (3, 5)},
    "linalg.eigh_tridiagonal": {
        "eigvals_only": (True, False),
        "select": ("i", "v", "a"),
        "select_range": ([0, 1], [1, 1], [-0.5, 1.5]),
        "tol": (0.1, 1e-3),
    },
    "linalg.inv": {"adjoint": (True,)},
    "linalg.lu": {"output_idx_type": dtypes("int64")},
    "linalg.matrix_rank": {"tol": (0.5, 2.0)},
    "linalg.matvec": {"adjoint_a": (True,), "a_is_sparse": (True,), "b_is_sparse": (True,)},
    "linalg.set_diag": {
        "k": (1, -1, [0, 1]),
        "align": ("LEFT_LEFT", "LEFT_RIGHT", "RIGHT_RIGHT"),
    },
    "linalg.triangular_solve": {"lower": (False,)},
    "linalg.tridiagonal_matmul": {"diagonals_format": ("matrix", "sequence")},
    "linalg.tridiagonal_solve": {
        "diagonals_format": ("matrix", "sequence"), "transpose_rhs": (True,),
        "conjugate_rhs": (True,), "perturb_singular": (True,), "partial_pivoting": (False,),
    },
    "math.accumulate_n": {"shape": ([2], [2, 3]), "tensor_dtype": dtypes("float32", "int32")},
    "math.l2_normalize": {"epsilon": (0.1, 1.0), "dim": (0, -1)},
    "math.top_k": {"sorted": (False,)},
    "matmul": {
        "a_is_sparse": (True,), "b_is_sparse": (True,), "output_type": dtypes("int32", "float32"),
        "grad_a": (True,), "grad_b": (True,),
    },
    "nn.crelu": {"axis": (0, 1, -2)},
    "nn.ctc_loss": {"unique": (None,)},
    "nn.dropout": {"noise_shape": ([1], [None], [2, 1])},
    "nn.experimental.stateless_dropout": {"noise_shape": ([1], [None], [2, 1])},
    **shared(
        ("nn.embedding_lookup_sparse", "nn.safe_embedding_lookup_sparse"),
        {"max_norm": (0.5, 1.0), "allow_fast_lookup": (True,)},
    ),
    "nn.gelu": {"approximate": (True,)},
    "nn.leaky_relu": {"alpha": (0.0, 0.5, 1.5)},
    "nn.moments": {"shift": (1.0, 0.5)},
    **shared(("nn.silu", "nn.swish"), {"beta": (0.5, 2.0)}),
    **shared(("ones_like", "zeros_like"), {"dtype": dtypes("int32", "float64", "bool")}),
    "quantization.fake_quant_with_min_max_vars_per_channel_gradient": {
        "num_bits": (4, 16), "narrow_range": (True,),
    },
    **shared(
        ("quantization.quantize_and_dequantize", "quantization.quantize_and_dequantize_v2"),
        {"axis": (0, 1)},
    ),
    "ragged.constant": {"inner_shape": ([], [2]), "row_splits_dtype": dtypes("int32")},
    **shared(
        ("ragged.cross_hashed", "sparse.cross_hashed"),
        {"num_buckets": (7, 100), "hash_key": (11, 956888297470)},
    ),
    "ragged.range": {
        "dtype": dtypes("int64", "float32"), "row_splits_dtype": dtypes("int32", "int64"),
    },
    "ragged.segment_ids_to_row_splits": {"num_segments": (2, 5, 9)},
    "random.categorical": {"dtype": dtypes("int32", "int64")},
    **shared(
        ("random.experimental.stateless_shuffle", "random.fold_in", "random.split"),
        {"alg": ALGORITHMS},
    ),
    **shared(("random.normal", "random.truncated_normal"), {"mean": (2.0,), "stddev": (3,)}),
    "random.uniform": {"minval": (-1, 0), "maxval": (2, 5)},
    "sets.difference": {"aminusb": (False,)},
    **shared(("signal.dct", "signal.idct"), {"axis": (-1, 0)}),
    "signal.frame": {"axis": (0, -2)},
    **shared(
        ("signal.inverse_mdct", "signal.mdct", "signal.inverse_stft", "signal.stft"),
        {"window_fn": WINDOWS},
    ),
    "signal.linear_to_mel_weight_matrix": {"dtype": dtypes("float64", "float32")},
    "sparse.add": {"threshold": (0.5, 1, 0)},
    "sparse.bincount": {"weights": (None,)},
    "sparse.concat": {"expand_nonconcat_dims": (True,)},
    "sparse.cross": {"separator": ("|", "_Y_")},
    "sparse.reset_shape": {"new_shape": ([5, 5], [9, 9])},
    **shared(
        ("sparse.segment_mean", "sparse.segment_sqrt_n", "sparse.segment_sum"),
        {"sparse_gradient": (True,)},
    ),
    "sparse.sparse_dense_matmul": {"adjoint_a": (True,), "adjoint_b": (True,)},
    "sparse.to_dense": {"default_value": (0, -1, 2.5)},
    "sparse.transpose": {"perm": ([1, 0], [0, 1], [-1, 0])},
    "split": {"num": (2, 1)},
    "stack": {"axis": (0, 1, -1)},
    "strings.format": {"placeholder": ("{}", "%v"), "summarize": (1, -1)},
    "strings.ngrams": {"padding_width": (0, 1)},
    **shared(
        ("strings.unicode_decode", "strings.unicode_decode_with_offsets"),
        {"replacement_char": (65, 0), "replace_control_characters": (True,)},
    ),
    **shared(
        (
            "strings.unicode_encode", "strings.unicode_split",
            "strings.unicode_split_with_offsets",
        ),
        {"replacement_char": (65, 63)},
    ),
    "tuple": {"control_inputs": ([],)},
}  # fmt: skip

# Arguments that no value is spelled for, with the reason.
UNSPELLED = {
    "layout": "a layout of DTensor's, which Mica does not have: only None is taken",
    "var": "a variable: tests of slices have it",
    "weights": "sparse weights beside sparse values: cases of tests/tf have them",
    "sparse_weights": "sparse weights beside sparse ids: cases of tests/tf have them",
    "unique": "a pair that tf.nn.ctc_unique_labels gives: cases of tests/tf have it",
}

# Arguments whose other values TensorFlow's CPU build answers less than three times: it has no
# kernel for channels first, nor derivatives or other dtypes for the rest.
UNANSWERED = frozenset(
    {
        ("linalg.eigh_tridiagonal", "select"),
        ("matmul", "output_type"),
        ("nn.avg_pool1d", "data_format"),
        ("nn.avg_pool3d", "data_format"),
        ("nn.max_pool1d", "data_format"),
        ("nn.max_pool3d", "data_format"),
    }
)


def offered(name: str, parameters: set[str]) -> dict:
    """The extra values of a function with these parameters."""
    everywhere = {key: values for key, values in EVERYWHERE.items() if key in parameters}
    return everywhere | EXTRAS.get(name, {})


def extend(draw, arguments: dict, offer: dict) -> dict:
    """Arguments with one or two that the recipe does not have."""
    given = {key.rstrip("=") for key in arguments}
    choices = [key for key in offer if key not in given]
    # A name changes no answer: it is given less often than the rest.
    choices = [key for key in choices if key != "name" or draw.chance(15)]
    for _ in range(2):
        if not choices or not draw.chance(80):
            break
        key = choices.pop(draw.below(len(choices)))
        value = draw.pick(offer[key])
        arguments[f"{key}="] = value(draw) if callable(value) else value
    return arguments
