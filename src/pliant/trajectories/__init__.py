"""Desired motions of the actuated joints: position, rate and acceleration as functions of time."""
