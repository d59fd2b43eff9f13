"""The equations for computers: evaluated on any scalars, and printed as Python and C."""
