"""Trust of many models, side by side."""
