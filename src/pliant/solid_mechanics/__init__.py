"""Elastic solids of quadratic tetrahedra: mesh, matrices, reduction, second-order displacements, stress, CAD files."""
