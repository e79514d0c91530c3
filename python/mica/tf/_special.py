"""tf.math.special: functions that have names of their own."""

from __future__ import annotations

from ._core import ops

bessel_i0 = ops["BesselI0"]
bessel_i0e = ops["BesselI0e"]
bessel_i1 = ops["BesselI1"]
bessel_i1e = ops["BesselI1e"]
bessel_j0 = ops["BesselJ0"]
bessel_j1 = ops["BesselJ1"]
bessel_k0 = ops["BesselK0"]
bessel_k0e = ops["BesselK0e"]
bessel_k1 = ops["BesselK1"]
bessel_k1e = ops["BesselK1e"]
bessel_y0 = ops["BesselY0"]
bessel_y1 = ops["BesselY1"]
dawsn = ops["Dawsn"]
expint = ops["Expint"]
fresnel_cos = ops["FresnelCos"]
fresnel_sin = ops["FresnelSin"]
spence = ops["Spence"]
