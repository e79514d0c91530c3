"""All recipes."""

import recipes_array  # noqa: F401
import recipes_elementwise  # noqa: F401
import recipes_image  # noqa: F401
import recipes_linalg  # noqa: F401
import recipes_losses  # noqa: F401
import recipes_math  # noqa: F401
import recipes_nn  # noqa: F401
import recipes_quantization  # noqa: F401
import recipes_random  # noqa: F401
import recipes_signal  # noqa: F401
import recipes_sparse  # noqa: F401
import recipes_strings  # noqa: F401
from generator import RECIPES

__all__ = ["RECIPES"]
