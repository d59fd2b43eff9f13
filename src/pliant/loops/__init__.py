"""Closed loops of a robot: assembly, rank, independent coordinates, constrained dynamics in three forms."""
