"""Torques of given motions, and motions from torques with links as lumped nodes."""
