"""From functions on scalars to tapes: tracing, structure apart from values, one kernel per class of link."""
