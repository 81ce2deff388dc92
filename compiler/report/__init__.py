"""The compile report: ``report.json`` for programs and ``report.html`` for people.

``numbers`` collects everything in one JSON document, ``findings`` says what a reader must know,
and ``page`` lays the document out, with the plots of ``figures``. The page shows nothing that the
document does not hold. ``schema`` says what its fields mean.
"""

from edgemon.compiler.report.files import write
from edgemon.compiler.report.given import Given
from edgemon.compiler.report.numbers import collect
from edgemon.compiler.report.page import render

__all__ = ["Given", "collect", "render", "write"]
