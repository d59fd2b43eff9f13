"""Capabilities for control beside what robots and runs may have: each cell is computed in two ways, or refused."""
