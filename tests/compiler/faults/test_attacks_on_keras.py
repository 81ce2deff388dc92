"""Attacks on a real Keras model, as the compiled int8 model sees their images."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from edgemon.compiler.faults.attacks import Target, attacked
from edgemon.runtime.formats import open_classifier
from edgemon.runtime.preprocess import Preprocess
from tests.compiler.models.tensorflow_marks import NEEDS_TENSORFLOW

pytestmark = NEEDS_TENSORFLOW
COUNT = 60


def accuracy(model: Path, images: np.ndarray, labels: np.ndarray) -> float:
    classifier = open_classifier(model)
    found = []
    for image in images:
        classifier.invoke((image.astype(np.int16) - 128).astype(np.int8)[None])
        found.append(int(np.argmax(classifier.view(0))))
    return float((np.array(found) == labels).mean())


def test_attacks_on_the_float_model_reach_the_int8_one(shared: Path) -> None:
    data, models = shared / "data" / "images", shared / "data" / "images" / "models"
    with np.load(data / "cifar10_test.npz") as rows:
        x, y = rows["x"][5000 : 5000 + COUNT], rows["y"][5000 : 5000 + COUNT].astype(np.int64)
    target = Target(models / "mlperf_tiny_resnet8.h5", Preprocess())
    int8 = models / "mlperf_tiny_resnet8_int8.tflite"
    found = {
        (name, severity): attacked(target, name, severity, x, y, seed=0, rows=range(COUNT))
        for name, severity in (("fgsm", 1), ("fgsm", 4), ("pgd", 4), ("deepfool", 1))
    }
    right = {key: accuracy(int8, images, y) for key, images in found.items()}
    assert right["fgsm", 4] < right["fgsm", 1] < accuracy(int8, x, y)
    assert right["pgd", 4] < 0.1
    assert right["deepfool", 1] < 0.5
    moved = np.abs(found["deepfool", 1].astype(int) - x).mean()
    assert moved < 0.5 < np.abs(found["fgsm", 1].astype(int) - x).mean()
