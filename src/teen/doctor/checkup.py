"""All checks, in the order in which they are shown."""

from collections.abc import Callable, Mapping, Sequence

from . import machine, packages, works
from .finding import Check, Finding, guarded

CHECKS: Mapping[str, Check] = {
    "packages": packages.check,
    "devices": machine.check,
    "folder": machine.check_folder,
    "mujoco": works.mujoco,
    "envpool": works.envpool,
    "rendering": works.rendering,
    works.TRAINING: works.training,
}


def examine(checks: Mapping[str, Check], begun: Callable[[str], object] = lambda name: None) -> list[Finding]:
    """Return what all checks find. `begun` is told the name of each before it begins."""
    findings = []
    for name, check in checks.items():
        begun(name)
        findings += guarded(name, check)
    return sorted(findings, key=packages.is_extra)  # what is optional comes last


def trains(findings: Sequence[Finding]) -> bool:
    """Return whether `make train` would work here."""
    return any(finding.name == works.TRAINING and finding.state == "ok" for finding in findings)
