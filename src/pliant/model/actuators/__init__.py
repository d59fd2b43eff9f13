"""Kinds of line actuators, one module each: keys of files, numbers, states, and the force as a text on any scalars."""
