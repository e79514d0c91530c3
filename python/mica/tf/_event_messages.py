"""The messages of event files."""

from __future__ import annotations

from ._graph_def import GraphDef, TensorProto
from ._proto import message

PluginData = message("PluginData", plugin_name=(1, "string"), content=(2, "bytes"))
SummaryMetadata = message(
    "SummaryMetadata",
    plugin_data=(1, PluginData),
    display_name=(2, "string"),
    summary_description=(3, "string"),
    data_class=(
        4,
        {
            0: "DATA_CLASS_UNKNOWN",
            1: "DATA_CLASS_SCALAR",
            2: "DATA_CLASS_TENSOR",
            3: "DATA_CLASS_BLOB_SEQUENCE",
        },
    ),
)
SummaryMetadata.PluginData = PluginData
HistogramProto = message(
    "HistogramProto",
    min=(1, "double"),
    max=(2, "double"),
    num=(3, "double"),
    sum=(4, "double"),
    sum_squares=(5, "double"),
    bucket_limit=(6, "double*"),
    bucket=(7, "double*"),
)
SummaryImage = message(
    "Image",
    height=(1, "int"),
    width=(2, "int"),
    colorspace=(3, "int"),
    encoded_image_string=(4, "bytes"),
)
SummaryAudio = message(
    "Audio",
    sample_rate=(1, "float"),
    num_channels=(2, "int"),
    length_frames=(3, "int"),
    encoded_audio_string=(4, "bytes"),
    content_type=(5, "string"),
)
SummaryValue = message(
    "Value",
    oneof=("simple_value", "obsolete_old_style_histogram", "image", "histo", "audio", "tensor"),
    tag=(1, "string"),
    simple_value=(2, "float"),
    obsolete_old_style_histogram=(3, "bytes"),
    image=(4, SummaryImage),
    histo=(5, HistogramProto),
    audio=(6, SummaryAudio),
    node_name=(7, "string"),
    tensor=(8, TensorProto),
    metadata=(9, SummaryMetadata),
)
Summary = message("Summary", value=(1, [SummaryValue]))
Summary.Value, Summary.Image, Summary.Audio = SummaryValue, SummaryImage, SummaryAudio
SourceMetadata = message("SourceMetadata", writer=(1, "string"))
Event = message(
    "Event",
    oneof=("file_version", "graph_def", "summary", "meta_graph_def"),
    wall_time=(1, "double"),
    step=(2, "int"),
    file_version=(3, "string"),
    graph_def=(4, "bytes"),
    summary=(5, Summary),
    meta_graph_def=(9, "bytes"),
    source_metadata=(10, SourceMetadata),
)
FunctionGraphs = message(
    "FunctionGraphs",
    partition_graphs=(1, [GraphDef]),
    pre_optimization_graph=(2, GraphDef),
    post_optimization_graph=(3, GraphDef),
)
RunMetadata = message(
    "RunMetadata", partition_graphs=(3, [GraphDef]), function_graphs=(4, [FunctionGraphs])
)
