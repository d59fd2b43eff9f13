"""Forces that no motor makes, one module per kind: disturbances, stops."""
