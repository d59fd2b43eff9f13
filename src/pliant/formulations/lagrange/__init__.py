"""Lagrange's equations in symbols: closed-form equations of motion that a person can read (Lin & Lewis)."""
