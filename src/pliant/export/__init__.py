"""Code for others: C, Python, MATLAB, CasADi, and the recursive model as a listing of intermediate variables."""

from pliant.export.c import generate_c
from pliant.export.casadi import casadi_function, generate_casadi
from pliant.export.fmu import generate_fmu
from pliant.export.functions import parameters
from pliant.export.listing import generate_listing, listing
from pliant.export.matlab import generate_matlab
from pliant.export.python import generate_python
from pliant.export.signatures import FUNCTIONS

__all__ = [
    "FUNCTIONS",
    "casadi_function",
    "generate_c",
    "generate_casadi",
    "generate_fmu",
    "generate_listing",
    "generate_matlab",
    "generate_python",
    "listing",
    "parameters",
]
