"""Examples as messages: named features, each a list of bytes, floats or integers."""

from __future__ import annotations

from ._proto import message

BytesList = message("BytesList", value=(1, "bytes*"))
FloatList = message("FloatList", value=(1, "float*"))
Int64List = message("Int64List", value=(1, "int*"))
Feature = message(
    "Feature",
    oneof=("bytes_list", "float_list", "int64_list"),
    bytes_list=(1, BytesList),
    float_list=(2, FloatList),
    int64_list=(3, Int64List),
)
Features = message("Features", feature=(1, {Feature}))
Example = message("Example", features=(1, Features))
FeatureList = message("FeatureList", feature=(1, [Feature]))
FeatureLists = message("FeatureLists", feature_list=(1, {FeatureList}))
SequenceExample = message("SequenceExample", context=(1, Features), feature_lists=(2, FeatureLists))
