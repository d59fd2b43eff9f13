"""Cross-sections of beams: by name, by outline, by triangles."""
