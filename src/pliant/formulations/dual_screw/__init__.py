"""Dual screws: the equations of motion to first order in everything elastic, after Cibicik & Egeland."""
