"""Drawings of robots, shapes, modes and films."""
