"""Closed loops beside the recursion: assembly, rank, independent coordinates, constrained dynamics in three forms."""
