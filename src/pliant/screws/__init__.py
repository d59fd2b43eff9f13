"""Screws, groups of motions and dual numbers in NumPy: what Cibicik & Egeland compute with, beside their paper.

    from pliant import screws

    Y = screws.SE3.exp([0.1, 0.0, 0.0, 0.0, 0.0, 0.5])    # twist (linear, angular), as everywhere in Pliant
    (Y @ Y.inverse()).matrix                              # products, inverses, matrices
    Y.log(), Y.adjoint, screws.SE3.left_jacobian([...])   # logarithm, Ad, rate of the exponential

    group               element                   vectors of its algebra                  matrix
    SO3                 rotation A                rotation vector phi (3,)                A (3, 3)
    SE3                 A and a position r        (rho, phi): linear, angular (6,)        [A r; 0 1] (4, 4)
    DualRotation, G1    A and small angles theta  (phi, gamma): real, dual part (6,)      [A 0; theta~ A  A], (8)
    DualTransform, G2   X of G1, dual vector v    (omega, nu): two dual vectors (12,)     [X v; 0 1], (14)

Every group has ``identity``, ``exp``, ``log``, ``@``, ``inverse``, ``matrix``, ``adjoint`` (Ad), and for vectors of its
algebra ``hat`` (their matrix), ``ad``, ``left_jacobian`` and ``right_jacobian``: along a path exp(u) the left velocity
is left_jacobian(u) u_dot. G1 and G2 have a ``dual_form``: the same element as a dual 3 x 3 or 4 x 4 matrix.

``Screw`` is a line, a twist or a wrench in R^6, ``screw_transformation`` (2) and ``projection_matrix`` (7) go with it;
their dual counterparts in R^12 are functions on arrays whose names begin with ``dual_``. A dual number x + eps y,
eps^2 = 0, is ``Dual``. Numbers in parentheses are equations of the paper.
"""

from pliant.screws.checked_input import skew, unskew
from pliant.screws.dual_screws import (
    INTERCHANGE,
    dual_coordinate_change,
    dual_differentiation,
    dual_form,
    dual_inertia,
    dual_line,
    dual_projection_matrix,
    dual_reference_change,
    dual_screw_transformation,
    dual_vector,
    elastic_screws,
    lambda_matrix,
    wrench_projection,
)
from pliant.screws.groups import SE3, SO3, DualRotation, DualTransform, MotionGroup
from pliant.screws.screw_vectors import Screw, projection_matrix, screw_transformation
from pliant.spatial.dual_numbers import Dual, dual, dual_part, real_part

__all__ = [
    "INTERCHANGE",
    "SE3",
    "SO3",
    "Dual",
    "DualRotation",
    "DualTransform",
    "MotionGroup",
    "Screw",
    "dual",
    "dual_coordinate_change",
    "dual_differentiation",
    "dual_form",
    "dual_inertia",
    "dual_line",
    "dual_part",
    "dual_projection_matrix",
    "dual_reference_change",
    "dual_screw_transformation",
    "dual_vector",
    "elastic_screws",
    "lambda_matrix",
    "projection_matrix",
    "real_part",
    "screw_transformation",
    "skew",
    "unskew",
    "wrench_projection",
]
