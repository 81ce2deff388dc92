"""The pipeline prepares images in C++ as the runtime does in Python, bit for bit."""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgemon.runtime.errors import InputError, NotFiniteError
from edgemon.runtime.mirror import mirrored, width_axis
from edgemon.runtime.preprocess import InputSpec, Preprocess, to_input
from tests.runtime.c_compilers import C, need, run
from tests.runtime.examples.pipeline.conftest import PIPELINE, require_nlohmann

HERE = Path(__file__).resolve().parent
NAMES = ("declaration", "image", "mirror", "preprocess", "resize", "sha256")
PARTS = [PIPELINE / f"{name}.cpp" for name in NAMES]
FLAGS = ["-std=c++17", "-O0", "-ffp-contract=off", f"-I{PIPELINE}", f"-I{C / 'include'}", "-Wall",
         "-Wextra", "-Wconversion", "-Wshadow", "-Wpedantic", "-Werror"]  # fmt: skip
SANITIZED = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
pytestmark = pytest.mark.xdist_group("pipeline")


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require_nlohmann()
    path = tmp_path_factory.mktemp("probe") / "probe"
    run(need("g++"), *FLAGS, *SANITIZED, HERE / "probe.cpp", *PARTS, "-o", path)
    return path


def answers(probe: Path, what: str, lines: list[str]) -> list[str]:
    done = subprocess.run(
        [probe, what], input="\n".join(lines), capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


class Cases:
    """Images with what is declared for them; what C++ and Python make of each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lines: list[str] = []
        self.expected: list[Any] = []  # the tensor, or the error

    def add(self, image: Any, declared: str, spec: InputSpec, *, mirror: bool = False) -> None:
        number = len(self.lines)
        declaration, file, out = (self.folder / f"{number}.{s}" for s in ("json", "npy", "out"))
        preprocess = Preprocess.parse(declared)
        told = {"preprocess": preprocess.to_json(), "input": spec.to_json()}
        declaration.write_text(json.dumps(told))
        np.save(file, image)
        self.lines.append(f"{declaration} {file} {out}" + (" mirror" if mirror else ""))
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                x = to_input(image, preprocess, spec)
            self.expected.append(mirrored(x, width_axis(spec, preprocess)) if mirror else x)
        except InputError as error:
            self.expected.append(error)

    def check(self, probe: Path) -> int:
        """Compare all; the number that gave a tensor."""
        tensors = 0
        found = answers(probe, "input", self.lines)
        for number, (answer, expected) in enumerate(zip(found, self.expected, strict=True)):
            if isinstance(expected, NotFiniteError):
                assert answer == str(expected), self.lines[number]
            elif isinstance(expected, InputError):
                assert answer != "ok", f"{self.lines[number]}: {expected}"
            else:
                assert answer == "ok", f"{self.lines[number]}: {answer}"
                x = np.fromfile(self.folder / f"{number}.out", expected.dtype)
                np.testing.assert_array_equal(
                    x.view(np.uint8), expected.reshape(-1).view(np.uint8), self.lines[number]
                )
                tensors += 1
        return tensors


def image_of(rng: np.random.Generator, shape: tuple[int, ...], kind: str) -> Any:
    if kind == "extreme":
        return np.where(rng.integers(0, 2, shape), 255, 0).astype(np.uint8)
    if kind == "uint8":
        return rng.integers(0, 256, shape, dtype=np.uint8)
    if kind in ("bool", "int16", "int64"):
        return rng.integers(0, 2 if kind == "bool" else 30000, shape).astype(kind)
    return (rng.normal(size=shape) * 10.0 ** rng.integers(-3, 4)).astype(kind)


KINDS = ("uint8", "extreme", "float32", "float64", "bool", "int16", "int64")
NUMBERS = ("", "scale=1/255", "scale=1/127.5,offset=-1", "mean=0.49,std=0.25", "offset=0.1")
OF_CHANNELS = ("mean=0.4914:0.4822:0.4465,std=0.2471:0.2435:0.2616", "scale=1/255,mean=0.5:0.1:0.2")


def test_tensors_are_equal_bit_for_bit(probe: Path, tmp_path: Path) -> None:
    """Random declarations, inputs and images, of which some do not fit each other."""
    rng = np.random.default_rng(0)
    cases = Cases(tmp_path)
    for _ in range(600):
        height, width, channels = (int(n) for n in rng.integers(1, 40, 3))
        channels = (1, 3, 3, 4)[channels % 4]
        h, w = (int(n) for n in rng.integers(1, 40, 2))
        colours = rng.choice(["asis", "rgb", "bgr", "gray"])
        numbers = rng.choice(OF_CHANNELS if channels == 3 and colours != "gray" else NUMBERS)
        resized = rng.random() < 0.6
        declared = f"channels={colours},{numbers},layout={rng.choice(['auto', 'nhwc', 'nchw'])}"
        declared += f",resize={w}x{h}" if resized else ""
        size = (h, w) if resized else (height, width)
        c = 1 if colours == "gray" else channels
        layout = "nchw" if "nchw" in declared else "nhwc"
        shape = (c, *size) if layout == "nchw" else (*size, c)
        dtype = str(rng.choice(["float32", "float64", "int8", "uint8", "int16", "int32"]))
        scale = float(np.float32(rng.uniform(0.001, 2))) if "int" in dtype else 0.0
        spec = InputSpec("x", shape, dtype, scale, int(rng.integers(-5, 5)), layout)
        flat = channels == 1 and rng.random() < 0.5
        cases.add(
            image_of(rng, (height, width) if flat else (height, width, channels),
                     str(rng.choice(KINDS))),
            declared, spec, mirror=bool(rng.random() < 0.2 and min(size) > 1 and w > 1 < width),
        )  # fmt: skip
    assert cases.check(probe) > 400


def test_values_at_the_edges_are_equal(probe: Path, tmp_path: Path) -> None:
    """Halves, saturation, NaN, infinities, tokens; vectors; axes that are missing or extra."""
    cases = Cases(tmp_path)
    halves = np.arange(-300, 300, dtype=np.float64)[:512] / 2
    for dtype in ("int8", "uint8", "int16", "int32", "int64", "float32", "float64"):
        cases.add(halves, "", InputSpec("x", (512,), dtype))
        cases.add(halves, "", InputSpec("x", (512,), dtype, 0.25, 3))
        cases.add(np.float32([1e30, -1e30, 0.0, -0.0]), "", InputSpec("x", (4,), dtype, 1.0))
        for bad in (np.nan, np.inf, -np.inf):
            cases.add(np.array([1, bad, 0, 0], np.float32), "", InputSpec("x", (4,), dtype))
    cases.add(np.array([1e300, 0, 0, 0]), "", InputSpec("x", (4,), "float32"))
    cases.add(np.array([2**24, 2**24 + 2], np.int64), "", InputSpec("x", (2,), "int32"))
    cases.add(np.array([2**24, -(2**24)], np.int64), "", InputSpec("x", (2,), "int64"))
    pixels = np.arange(24, dtype=np.uint8)
    for shape in (
        (24,),
        (1, 24),
        (4, 6),
        (4, 6, 1),
        (1, 4, 6),
        (1, 4, 6, 1),
        (2, 12),
        (1, 1, 4, 6),
    ):
        for needed in ((4, 6, 1), (4, 6), (1, 4, 6), (2, 4, 3)):
            cases.add(pixels.reshape(shape), "", InputSpec("x", needed, "float32"))
            cases.add(pixels.reshape(shape), "resize=6x4", InputSpec("x", needed, "uint8"))
    cases.add(pixels.reshape(2, 3, 4), "", InputSpec("x", (4, 2, 3), "float32", layout="nchw"))
    cases.add(pixels, "", InputSpec("x", (4, 2, 3), "float32", layout="nchw"))
    cases.add(np.float32([[1, np.nan], [2, 3]]), "resize=1x1", InputSpec("x", (1, 1), "float32"))
    cases.add(np.zeros((0, 4)), "resize=2x2", InputSpec("x", (2, 2), "float32"))
    cases.add(pixels.reshape(2, 3, 4), "channels=gray", InputSpec("x", (2, 3), "float32"))
    assert cases.check(probe) > 60


def netpbm(kind: bytes, width: int, height: int, pixels: bytes, head: bytes = b"") -> bytes:
    return kind + b"\n" + head + b"%d %d\n255\n" % (width, height) + pixels


PPM = netpbm(b"P6", 2, 1, bytes(range(6)), b"# a comment\n")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "neither"),
        (b"P3\n1 1\n255\n0 0 0\n", "neither"),
        (b"P6", "header"),
        (b"P6\n2 1\n", "header"),
        (PPM[:-1], "ends before"),
        (PPM.replace(b"255", b"254"), "values up to 255"),
        (netpbm(b"P5", 99999, 99999, b""), "16384 pixels"),
        (netpbm(b"P5", 0, 1, b""), "16384 pixels"),
        (b"\x93NUMPY\x01\x00", "header"),
        (b"\x93NUMPY\x01\x00\xff\xff{}", "C order"),
    ],
)
def test_damaged_frames_get_a_sentence(
    probe: Path, tmp_path: Path, content: bytes, says: str
) -> None:
    spec = InputSpec("x", (1, 2, 3), "float32")
    told = {"preprocess": Preprocess().to_json(), "input": spec.to_json()}
    (tmp_path / "declared.json").write_text(json.dumps(told))
    (tmp_path / "good").write_bytes(PPM)
    (tmp_path / "bad").write_bytes(content)
    lines = [f"{tmp_path / 'declared.json'} {tmp_path / name} {tmp_path / name}.out"
             for name in ("good", "bad")]  # fmt: skip
    good, bad = answers(probe, "input", lines)
    assert good == "ok"
    assert np.fromfile(tmp_path / "good.out", np.float32).tolist() == [0, 1, 2, 3, 4, 5]
    assert says in bad


def test_mutated_frames_harm_nothing(probe: Path, tmp_path: Path) -> None:
    """Each gives an image or a sentence; the sanitizers of the probe see what it reads."""
    rng = np.random.default_rng(0)
    npy = io.BytesIO()
    np.save(npy, np.arange(24, dtype=np.float32).reshape(2, 4, 3))
    told = {"preprocess": Preprocess().to_json(), "input": InputSpec("x", (2,), "int8").to_json()}
    (tmp_path / "declared.json").write_text(json.dumps(told))
    lines = []
    for number in range(1500):
        content = bytearray(PPM if number % 3 == 0 else npy.getvalue())
        for _ in range(rng.integers(1, 4)):
            at = int(rng.integers(0, len(content)))
            content[at] = int(rng.choice([0, 0x20, 0x28, 0x29, 0x30, 0x39, 0xFF, content[at] ^ 1]))
        del content[int(rng.integers(0, 2 * len(content))) :]
        path = tmp_path / f"{number}"
        path.write_bytes(content)
        lines.append(f"{tmp_path / 'declared.json'} {path} {tmp_path / 'out'}")
    found = answers(probe, "input", lines)
    assert len(found) == len(lines)
    assert len(set(found)) > 6


@pytest.mark.parametrize("order", ["F", ">"])
def test_arrays_in_another_order_are_refused(probe: Path, tmp_path: Path, order: str) -> None:
    image = np.arange(6, dtype=np.float32).reshape(2, 3)
    turned = np.asfortranarray(image) if order == "F" else image.astype(">f4")
    np.save(tmp_path / "image.npy", turned)
    spec = InputSpec("x", (2, 3), "float32")
    told = {"preprocess": Preprocess().to_json(), "input": spec.to_json()}
    (tmp_path / "declared.json").write_text(json.dumps(told))
    line = f"{tmp_path / 'declared.json'} {tmp_path / 'image.npy'} {tmp_path / 'out'}"
    (answer,) = answers(probe, "input", [line])
    assert "order" in answer


def test_hashes_are_those_of_sha256(probe: Path, tmp_path: Path) -> None:
    lengths = (0, 1, 55, 56, 63, 64, 65, 119, 120, 128, 1000)
    for length in lengths:
        (tmp_path / f"{length}").write_bytes(bytes(i % 251 for i in range(length)))
    found = answers(probe, "sha256", [str(tmp_path / f"{length}") for length in lengths])
    files = [(tmp_path / f"{length}").read_bytes() for length in lengths]
    assert found == [hashlib.sha256(content).hexdigest() for content in files]


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_policy(compiler: str, tmp_path: Path) -> None:
    sources = [HERE / "test_policy.cpp", PIPELINE / "policy.cpp"]
    flags = [*FLAGS, "-fno-exceptions"]
    run(need(compiler), *flags, *SANITIZED, *sources, "-o", tmp_path / "policy")
    assert run(tmp_path / "policy") == "ok\n"
