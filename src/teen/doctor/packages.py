"""The packages of the project and of its extras: which are here, in which version, and whether they can be imported."""

import json
import platform
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from importlib import metadata
from itertools import chain
from typing import TYPE_CHECKING

from .. import __version__
from . import child
from .finding import Finding

if TYPE_CHECKING:
    from packaging.requirements import Requirement

PROJECT = "teen-rl"
MODULES = {"scikit-learn": "sklearn", "pillow": "PIL"}  # packages whose module has another name
BESIDE = ("jaxlib",)  # part of JAX; its version counts as much

EXTRA = "extra "  # how findings about one begin

# What an extra is for. Those of developers are not listed.
PURPOSES = {
    "fast": "simulators that step in parallel",
    "dmc": "the DeepMind Control Suite",
    "analysis": "teen paper region",
    "video": "teen play --video",
    "onnx": "teen export --to onnx",
    "minari": "teen export --to minari",
    "tensorboard": "teen train --log tensorboard",
    "wandb": "teen train --log wandb",
    "trackio": "teen train --log trackio",
    "hub": "teen share --push, and agents from the Hub",
    "completion": "teen completion",
    "cluster": "--on ray, and jobs on a URL",
    "tune": "teen tune",
}


@dataclass(frozen=True)
class Package:
    name: str
    wanted: str  # versions, such as >=0.10; empty where any will do
    version: str | None  # None where it is not installed
    fits: bool  # whether the version is one of those
    needs: frozenset[str] = frozenset()  # names of the packages without which it cannot be imported

    @property
    def module(self) -> str:
        return MODULES.get(self.name, self.name.replace("-", "_"))

    def trouble(self, broken: dict[str, str]) -> str:
        """Say what is wrong with it, given what importing modules raised; empty where nothing is."""
        if self.version is None:
            return "is not installed"
        if not self.fits:
            return f"{self.version} is installed, and {self.wanted} is needed"
        return f"{self.version} cannot be imported: {broken[self.module]}" if self.module in broken else ""


def check(requires: Sequence[str] | None = None) -> list[Finding]:
    """Return a finding for each package in trouble, one for all others together, and one for each extra. `requires` are
    the requirements of the project, by default those that it was installed with."""
    python = Finding("python", "ok", f"{platform.python_version()} ({platform.platform()})")
    try:
        requires = (metadata.requires(PROJECT) or []) if requires is None else requires
    except metadata.PackageNotFoundError:
        text = f"{__version__} is not installed as a package, so what it needs is not known"
        return [python, Finding("teen", "warning", text, "pip install . in its folder, unless that is intended")]
    base = [*needed(requires), *(package(name) for name in BESIDE)]
    extras = {extra: needed(requires, extra) for extra in PURPOSES if needed(requires, extra)}
    every = [*base, *chain.from_iterable(extras.values())]
    broken = _broken(dict.fromkeys(each.module for each in every if each.version and each.fits))
    troubled = {each.name for each in every if each.trouble(broken)}
    bad = sorted((each for each in base if each.name in troubled), key=lambda each: bool(each.needs & troubled))
    good = [f"{each.name} {each.version}" for each in base if each.name not in troubled]
    return [
        python,
        Finding("teen", "ok", __version__),
        *(Finding(each.name, "failure", each.trouble(broken), _remedy(each, troubled)) for each in bad),
        *([Finding("packages", "ok", ", ".join(good))] if good else []),
        *(_extra(extra, its, broken, troubled) for extra, its in extras.items()),
    ]


def needed(requires: Iterable[str], extra: str = "") -> list[Package]:
    """Return the packages that the project needs, or that an extra adds; with those that their own extras add."""
    found: dict[str, Package] = {}
    for each in _matching(requires, extra):
        found[each.name] = package(each.name, str(each.specifier))
        if found[each.name].version is not None:
            inner = metadata.requires(each.name) or []
            for one in (one for name in each.extras for one in _matching(inner, name)):
                found.setdefault(one.name, package(one.name, str(one.specifier)))
    return list(found.values())


def package(name: str, wanted: str = "") -> Package:
    from packaging.specifiers import SpecifierSet

    try:
        version = metadata.version(name)
    except (metadata.PackageNotFoundError, KeyError):
        version = ""
    if not version:  # or None, where its description is damaged
        return Package(name, wanted, None, False)
    needs = frozenset(each.name for each in _matching(metadata.requires(name) or [], ""))
    return Package(name, wanted, version, SpecifierSet(wanted).contains(version, prereleases=True), needs)


def _matching(requires: Iterable[str], extra: str) -> "list[Requirement]":
    """Return the requirements that hold on this machine; with an extra, only those that it adds."""
    from packaging.requirements import Requirement

    every = [Requirement(text) for text in requires]
    always = [each for each in every if each.marker is None or each.marker.evaluate({"extra": ""})]
    if not extra:
        return always
    return [each for each in every if each not in always and each.marker and each.marker.evaluate({"extra": extra})]


def _broken(modules: Iterable[str]) -> dict[str, str]:
    """Return what importing a module raises, for each that cannot be imported. One that ends the process is broken,
    too: the others are tried in another one."""
    found: dict[str, str] = {}
    rest = list(modules)
    if why := child.probe("imports").why:  # of nothing: then no package is to blame
        raise RuntimeError(why)
    while rest:
        answer = child.probe("imports", *rest)
        found |= dict(json.loads(line) for line in answer.lines)
        rest = [module for module in rest if module not in found]
        if rest:
            found[rest.pop(0)] = answer.why or "it ends the process"
    return {module: why for module, why in found.items() if why}


def _remedy(package: Package, troubled: Set[str]) -> str:
    """Say what to do about a package in trouble, which may be that of another one."""
    if first := sorted(package.needs & troubled):
        return f"mend {first[0]} first"
    if package.version is None or not package.fits:
        return f'pip install "{package.name}{package.wanted}"'
    return f'pip install --force-reinstall "{package.name}=={package.version}"'


def is_extra(finding: Finding) -> bool:
    return finding.name.startswith(EXTRA)


def _extra(extra: str, packages: Sequence[Package], broken: dict[str, str], troubled: Set[str]) -> Finding:
    name, purpose = EXTRA + extra, f"for {PURPOSES[extra]}"
    missing = [each.name for each in packages if each.version is None]
    if missing:
        return Finding(name, "not installed", f"{', '.join(missing)}, {purpose}", f'pip install "{PROJECT}[{extra}]"')
    for each in packages:
        if trouble := each.trouble(broken):
            return Finding(name, "failure", f"{each.name} {trouble}; it is {purpose}", _remedy(each, troubled))
    return Finding(name, "ok", f"{', '.join(f'{each.name} {each.version}' for each in packages)}, {purpose}")
