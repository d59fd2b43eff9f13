"""Moves from rest to rest that are the best of all within limits: by collocation, confirmed by simulation."""
