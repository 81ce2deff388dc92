"""The peers of forests: each turns a forest of scikit-learn into C or into a function."""

from __future__ import annotations

import tempfile
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from edgemon.bench.peers.own import own
from edgemon.bench.peers.work import Contestant, CSource, Floats, Function, Work

ARGMAX = """
static int32_t argmax(const double *p, int n) {
    int best = 0;
    for (int i = 1; i < n; i++) best = p[i] > p[best] ? i : best;
    return best;
}
"""


def emlearn(work: Work, *, method: str, dtype: str) -> CSource:
    """emlearn: nested ifs (inline), or a table that is walked (loadable)."""
    import emlearn as peer

    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        path = Path(folder) / "forest.h"
        peer.convert(work.model, method=method, dtype=dtype).save(file=str(path), name="forest")
        made = path.read_text()
    length = work.rows.shape[1]
    text = (
        f'#include <stdint.h>\n#include "forest.h"\n'
        f"int32_t answer(const {dtype} *x) {{ return forest_predict(x, {length}); }}\n"
    )
    return CSource(text, dtype, (Path(peer.includedir),), {"forest.h": made})


def m2cgen(work: Work) -> CSource:
    """m2cgen: nested ifs on doubles."""
    import m2cgen as peer

    length, classes = work.rows.shape[1], len(work.model.classes_)
    text = (
        f"#include <stdint.h>\n{peer.export_to_c(work.model)}{ARGMAX}"
        f"int32_t answer(const float *x) {{\n"
        f"    double wide[{length}], p[{classes}];\n"
        f"    for (int i = 0; i < {length}; i++) wide[i] = x[i];\n"
        f"    score(wide, p);\n    return argmax(p, {classes});\n}}\n"
    )
    return CSource(text)


def tl2cgen(work: Work) -> CSource:
    """tl2cgen: what treelite imports, as nested ifs."""
    import tl2cgen as peer
    import treelite

    with tempfile.TemporaryDirectory() as folder:
        model = treelite.sklearn.import_model(work.model)
        peer.generate_c_code(model, folder, params={}, verbose=False)
        made = {p.name: p.read_text() for p in Path(folder).glob("*.[ch]")}
    length, classes = work.rows.shape[1], len(work.model.classes_)
    kind = "double" if "fvalue <= (double)" in made["main.c"] else "float"
    text = (
        f"#include <stdint.h>\n{made.pop('main.c')}{ARGMAX}"
        f"int32_t answer(const float *x) {{\n"
        f"    union Entry row[{length}];\n    double p[{classes}] = {{0}};\n"
        f"    for (int i = 0; i < {length}; i++) row[i].fvalue = ({kind})x[i];\n"
        f"    predict(row, 0, p);\n    return argmax(p, {classes});\n}}\n"
    )
    return CSource(text, files=made)


def onnx_runtime(work: Work) -> Function:
    """ONNX Runtime, one thread, one row a call."""
    import onnxruntime
    from skl2onnx import to_onnx

    model = to_onnx(work.model, work.rows[:1], options={"zipmap": False}).SerializeToString()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    label = [session.get_outputs()[0].name]
    return Function(lambda row: int(session.run(label, {name: row})[0][0]), len(model))


def scikit_learn(work: Work) -> Function:
    """scikit-learn itself, one row a call."""
    model: Any = work.model

    def answer(row: Floats) -> int:
        return int(np.argmax(model.predict_proba(row)))

    return Function(answer)


OWN = "edgemon"
FORESTS = (
    Contestant(OWN, own),
    Contestant("edgemon, early exit", partial(own, early_exit=True)),
    Contestant("emlearn inline, float", partial(emlearn, method="inline", dtype="float")),
    Contestant("emlearn inline, int16", partial(emlearn, method="inline", dtype="int16_t")),
    Contestant("emlearn loadable, float", partial(emlearn, method="loadable", dtype="float")),
    Contestant("emlearn loadable, int16", partial(emlearn, method="loadable", dtype="int16_t")),
    Contestant("m2cgen", m2cgen),
    Contestant("tl2cgen", tl2cgen),
    Contestant("ONNX Runtime", onnx_runtime),
    Contestant("scikit-learn", scikit_learn),
)
