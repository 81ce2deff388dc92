"""Monitors and their taps as they are typed, checked before anything heavy is imported: what each
monitor takes stands here too, and a test holds it to the monitors themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path

from edgemon.compiler.errors import CompileError
from edgemon.compiler.taps.unknown import unknown
from edgemon.runtime.views import COMPANION, ODIN, PLAIN, split
from edgemon.targets.nearest import choices


@dataclass(frozen=True)
class Number:
    """A setting that is one, within limits."""

    kind: type[int] | type[float]
    least: float
    most: float


Words = tuple[str, ...]  # a setting that is one of these
Setting = Number | Words

YES_NO = ("yes", "no", "on", "off")
AUTO = "auto"
SEED = Number(int, 0, 2**32 - 1)
POOL = Number(int, 1, 1 << 20)
RULE = ("mcc", "disagreement")
FUSION: dict[str, Setting] = {
    "novelty_weight": Number(float, 0, 10),
    "budget_kb": Number(float, 0.1, 4096),
    "budget_us": Number(float, 0, 1e6),
    "seed": SEED,
    "mirror": YES_NO,
}
PROTOTYPES: dict[str, Setting] = {"per_class": Number(int, 1, 1024), "seed": SEED, "pool": POOL}
SETTINGS: dict[str, dict[str, Setting]] = {
    "softmax": {},
    "msp_t": {},
    "entropy": {},
    "energy": {"temperature": Number(float, 0.05, 20)},
    "gen": {"gamma": Number(float, 0.01, 2)},
    "doctor": {},
    "odin_t": {},
    "odin": {
        "eps": Number(float, 0, 0.1),
        "temperature": Number(float, 0.1, 1e5),
        "white": Number(float, 1e-6, 65535),
    },
    "second_opinion": {"rule": RULE, "bands": Number(int, 1, 64), "seed": SEED},
    "mirror": {"rule": RULE, "bands": Number(int, 1, 64), "seed": SEED},
    "mahalanobis_gap": {"rule": RULE, "seed": SEED},
    "rmds": {"dims": Number(int, 0, 1024), "pool": POOL},
    "fdbd": {},
    "react": {"percentile": Number(float, 1, 100), "score": ("energy", "msp")},
    "prototypes": PROTOTYPES,
    "prototype_odds": PROTOTYPES,
    "density": {"dims": Number(int, 1, 1024), "pool": POOL},
    "subspace": {"dims": Number(int, 1, 1024)},
    "class_subspace": {"dims": Number(int, 1, 1024)},
    "alocc": {},
    "forest": {
        "trees": Number(int, 1, 1000),
        "max_depth": Number(int, 1, 16),
        "min_rows": Number(int, 1, 1_000_000),
        "seed": SEED,
    },
    "boosted_opinion": {
        "trees": Number(int, 1, 1000),
        "leaves": Number(int, 0, 64),
        "rule": RULE,
        "seed": SEED,
    },
    "errors": FUSION,
    "scod": FUSION,
    "box": {
        "gamma": Number(float, 0, 100),
        "tau": Number(float, 0, 1),
        "max_clusters": Number(int, 1, 1000),
        "floor": Number(float, 0, 1e9),
        "projection": ("none", "simple", "pca", "isomap"),
        "dimensions": Number(int, 1, 256),
        "landmarks": Number(int, 2, 256),
        "layers_rule": ("any", "majority"),
        "seed": SEED,
    },
    "pattern": {
        "threshold": ("zero", "median"),
        "neurons": Number(int, 0, 2048),
        "per_class": Number(int, 1, 100_000),
        "gamma": Number(int, 0, 2048),
        "seed": SEED,
    },
    "prophecy": {
        "max_depth": Number(int, 1, 64),
        "max_leaves": Number(int, 2, 16384),
        "min_rows": Number(int, 1, 1_000_000),
        "prune": YES_NO,
        "on_off": YES_NO,
        "only_pure": YES_NO,
        "validation": Number(float, 0.05, 0.5),
        "seed": SEED,
    },
    "deepinfer": {"comparator": (">=", "<=", ">", "<")},
    "selfchecker": {
        "rule": ("majority", "advice_differs", "any_disagrees"),
        "budget_kb": Number(float, 0.1, 16000),
        "max_layers": Number(int, 1, 8),
        "form": ("auto", "gaussian", "marginal", "subset"),
        "validation": Number(float, 0.01, 0.9),
        "exact_rows": Number(int, 2, 1_000_000),
        "seed": SEED,
    },
}
ERRORS = (  # that a fusion may have as members, whatever the model
    "msp_t", "second_opinion", "mahalanobis_gap", "fdbd", "prototype_odds", "forest",
    "boosted_opinion", "mirror",
)  # fmt: skip
MEMBERS = {
    "errors": ERRORS,
    "scod": (*ERRORS, "density", "subspace", "rmds", "prototypes", "class_subspace"),
}
NO_LAYERS = (  # what a bare --taps RULE does not mean
    "softmax", "msp_t", "entropy", "energy", "gen", "doctor", "odin_t", "odin", "mirror", "fdbd",
    "react", "alocc", "deepinfer",
)  # fmt: skip
BROUGHT = "edgemon.monitors"  # entry points, see compiler/monitors/registry.py


def require_monitors(text: str, profile: str = "errors", *, mirror: bool = False) -> list[str]:
    """The monitors that ``--monitor`` names; ``auto`` is the profile's fusion. Raises CompileError
    for a name that no monitor has, and for a setting that a monitor has not, or not so."""
    parts = [part for part in map(str.strip, text.split(",")) if part]
    known = tuple(dict.fromkeys((AUTO, *SETTINGS, *_brought())))
    if mirror and AUTO not in (part.partition(":")[0] for part in parts):
        raise CompileError(
            f"--mirror goes with --monitor {AUTO}, not with {text!r}: name the monitor mirror, or "
            f"write {profile}:mirror=on"
        )
    names = []
    for part in parts:
        name, *settings = part.split(":")
        if name not in known:
            raise CompileError(f"--monitor: unknown monitor {name!r}{choices(name, known)}")
        if mirror and name == AUTO and any(s.partition("=")[0] == "mirror" for s in settings):
            raise CompileError(
                f"--monitor {part}: --mirror says that the fusion may read the mirrored image, "
                "and so does the setting mirror: give one of them"
            )
        names.append(profile if name == AUTO else name)
        its = SETTINGS.get(names[-1])
        if its is not None:
            _require_settings(names[-1], settings, its)
    if not names or len(set(names)) != len(names):
        every = ", ".join(known)
        raise CompileError(f"--monitor {text!r}: name each monitor once; there are {every}")
    return names


def _require_settings(name: str, settings: Sequence[str], its: dict[str, Setting]) -> None:
    given: dict[str, str] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals and key in its:
            raise CompileError(f"--monitor {name}: write {key}=VALUE")
        if key not in its:
            raise CompileError(
                f"--monitor {name}: unknown setting {setting!r}{choices(key, its, 'it has')}"
            )
        if key in given:
            raise CompileError(f"--monitor {name}: the setting {key} is given twice")
        given[key] = value
        _require_form(name, key, value, its[key])
    for key, value in given.items():
        _require_value(name, key, value, its[key])


def _require_form(name: str, key: str, value: str, wanted: Setting) -> None:
    if wanted == YES_NO and value not in YES_NO:
        raise CompileError(f"--monitor {name}: {key}={value!r} is not yes or no")
    if isinstance(wanted, Number):
        try:
            wanted.kind(value)
        except ValueError:
            raise CompileError(f"--monitor {name}: {key}={value!r} is not a number") from None


def _require_value(name: str, key: str, value: str, wanted: Setting) -> None:
    if isinstance(wanted, Number):
        number = wanted.kind(value)
        if not wanted.least <= number <= wanted.most:
            raise CompileError(
                f"--monitor {name}: {key}={number} must lie between {wanted.least:.10g} and "
                f"{wanted.most:.10g}"
            )
    elif value not in wanted:
        raise CompileError(f"--monitor {name}: {key}={value!r} is unknown; use {', '.join(wanted)}")


def require_taps(text: str, names: Sequence[str], companion: Path | None) -> None:
    """Raises CompileError for what no model gives these monitors: taps of a monitor that is not
    among them, a rule where none reads layers, and a companion that nobody brings. Which tensors
    there are, the model says."""
    if not set(names) <= SETTINGS.keys():
        return  # of what a package brings nothing is known before it is imported
    if "alocc" in names and companion is None:
        raise CompileError(
            "monitor 'alocc' needs a companion model, one that `edgemon alocc train` makes: give "
            "its file with --companion"
        )
    kinds = [kind for name in names for kind in MEMBERS.get(name, (name,))]
    for part in filter(None, (p.strip() for p in text.split(","))):
        monitor, equals, rules = part.rpartition("=")
        if equals and monitor not in kinds:
            fusions = {AUTO, *names} if MEMBERS.keys() & set(names) else ()
            raise unknown(part, monitor, dict.fromkeys(kinds), fusions)
        if not equals and set(kinds) <= {*NO_LAYERS}:
            write = " or ".join(f"{kind}={rules}" for kind in kinds)
            raise CompileError(f"--taps {part}: no monitor here reads layers; write {write}")
        for base, view in map(split, rules.split("+")):
            if not base or split(base)[1] != PLAIN:
                continue  # not a rule with a view: the model's side says how one is written
            if (view == COMPANION and companion is None) or (view == ODIN and "odin" not in names):
                from edgemon.compiler.models.companion import lacking

                raise lacking(view)


def _brought() -> list[str]:
    return sorted(e.name for e in entry_points(group=BROUGHT))
