"""Symbols: series of monomials and harmonics, bodies in symbols, Lagrange's equations of their energies."""
