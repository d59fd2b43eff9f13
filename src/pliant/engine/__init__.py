"""From the passes over one link to fast evaluators: trace, compile, call."""
