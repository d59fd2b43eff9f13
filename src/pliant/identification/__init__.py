"""Beside real machines: logs of measurements, how far runs are from them."""
