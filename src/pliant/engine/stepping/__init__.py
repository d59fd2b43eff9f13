"""Integrators in the same compiled module as the dynamics and the drive."""
