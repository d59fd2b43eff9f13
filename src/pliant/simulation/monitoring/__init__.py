"""What is followed along a run: events, extremes, growth, accuracy, passages, and what is warned of at its end."""
