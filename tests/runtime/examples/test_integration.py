"""The examples for ROS 2 and Zephyr, checked for their syntax: their systems are not here, and
small headers with the signatures of their references stand in for them."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from edgemon.compiler.emit import flat
from tests.conftest import ROOT
from tests.runtime.c_compilers import RUNTIME, STRICT, C, need, run
from tests.runtime.examples.pipeline.conftest import PIPELINE, require_nlohmann
from tests.runtime.versions import make

STAND_INS = ROOT / "tests" / "stand_ins"
STORED = sorted(make.HERE.glob("*.emon"))[-1]
ROS2, ZEPHYR = (RUNTIME / "examples" / name for name in ("ros2", "zephyr"))


def test_the_ros_2_component_compiles() -> None:
    require_nlohmann()
    includes = [f"-I{PIPELINE}", f"-I{C / 'include'}", f"-I{STAND_INS / 'ros2'}"]
    source = ROS2 / "src" / "guarded_classifier.cpp"
    run(need("g++"), "-std=c++17", *STRICT, *includes, "-fsyntax-only", source)


def test_the_ros_2_package_depends_on_what_it_finds() -> None:
    package = ElementTree.parse(ROS2 / "package.xml").getroot()
    stated = {found.text for found in package.iter("depend")}
    cmake, source = (
        (ROS2 / name).read_text() for name in ("CMakeLists.txt", "src/guarded_classifier.cpp")
    )
    needed = {
        line.split("(")[1].split()[0] for line in cmake.splitlines() if "find_package" in line
    }
    assert stated - {"nlohmann-json-dev"} == needed - {"ament_cmake"}
    assert {name for name in needed if f"#include <{name}/" in source} == needed - {"ament_cmake"}


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_the_zephyr_application_compiles(compiler: str, tmp_path: Path) -> None:
    (tmp_path / "monitor.h").write_text(flat.c_header(STORED.read_bytes()))
    includes = [f"-I{tmp_path}", f"-I{C / 'include' / 'edgemon'}", f"-I{STAND_INS}"]
    source = ZEPHYR / "src" / "main.c"
    run(need(compiler), "-std=c11", *STRICT, *includes, "-fsyntax-only", source)
