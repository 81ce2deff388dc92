"""Front ends: open a trained classifier, choose the tensors to monitor, run it elsewhere.

Models are untrusted: compile, verify and inspect run them in worker processes only.
"""

from edgemon.compiler.models.front_ends import is_model, open_model, write_untapped

__all__ = ["is_model", "open_model", "write_untapped"]
