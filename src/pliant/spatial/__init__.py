"""Vectors and rotations on plain scalars: floats, complex numbers, NumPy batches or traced scalars alike."""
