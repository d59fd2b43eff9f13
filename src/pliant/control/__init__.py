"""Models for control design: linear models about states and along motions, their responses, reductions and samples."""
