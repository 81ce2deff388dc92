"""What breaks a model that was right: one property of the image at a time, and answers together."""
