"""The geometry of bias estimation: can the bias be estimated, at what price, and why?

- `bias`: κ_* and its kin, the designs that attain them, `BiasGeometry`, and the hyperplane that
  keeps two groups apart, as a user sees it;
- `sections`, `figure`: what is said of it, and what is drawn.
"""

from evenhand.geometry.bias import (
    BiasGeometry,
    bias_geometry,
    bias_optimal_design,
    delta_optimal_design,
    kappa,
    minimax_design,
)

__all__ = [
    "BiasGeometry",
    "bias_geometry",
    "bias_optimal_design",
    "delta_optimal_design",
    "kappa",
    "minimax_design",
]
