"""Robots, modes and runs in three dimensions, in a browser on this computer."""
