"""Companions of the view *odin*: models that step from an input along their own gradient."""
