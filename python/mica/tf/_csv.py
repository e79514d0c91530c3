"""Records of CSV as tensors (`tf.io.decode_csv`)."""

from __future__ import annotations

import itertools

from ._core import Tensor, convert_to_tensor, ops


def decode_csv(
    records,
    record_defaults,
    field_delim=",",
    use_quote_delim=True,
    na_value="",
    select_cols=None,
    name=None,
) -> list[Tensor]:
    """The fields of records, a tensor for each column.

    Parameters
    ----------
    records
        Strings of any shape, a record each.
    record_defaults
        For each column a value of its dtype, which stands for a missing one; an empty vector
        where the field has to be there.
    select_cols
        The columns that are taken, in ascending order; all by default.
    """
    if select_cols is not None and any(b <= a for a, b in itertools.pairwise(select_cols)):
        raise ValueError("select_cols is not strictly increasing.")
    if select_cols is not None and select_cols and select_cols[0] < 0:
        raise ValueError("select_cols contains negative values.")
    if select_cols is not None and len(select_cols) != len(record_defaults):
        raise ValueError("Length of select_cols and record_defaults do not match.")
    columns = ops["DecodeCSV"](
        records,
        [convert_to_tensor(value) for value in record_defaults],
        field_delim=field_delim,
        use_quote_delim=use_quote_delim,
        na_value=na_value,
        select_cols=select_cols or [],
        name=name,
    )
    return list(columns) if isinstance(columns, (list, tuple)) else [columns]
