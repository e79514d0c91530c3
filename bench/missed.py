"""Cases that may miss their bar: what bounds them, and the gap that was seen."""

MISSED = {
    "matmul_2048": (
        "Multiply-adds: 88 to 94 % of the machine's peak, 0.94 to 1.02 of TensorFlow's oneDNN from "
        "run to run. 92 % of the time is in the tile, whose loop runs at 97 % of the peak from "
        "packed panels; packing takes 3 %, writing the result 3 %."
    ),
    "reduce_rows": (
        "Reading memory: 112 to 154 % of a copy, 0.90 to 1.60 of PyTorch from run to run; bare "
        "loops of two threads take 0.98 to 1.04 of its time."
    ),
    "reduce_all": "The same loop as reduce_rows: 0.92 to 1.09 of PyTorch from run to run.",
}
