"""What this machine protects from programs, in words, and whether they may run without asking."""

from collections.abc import Mapping
from dataclasses import dataclass

MECHANISMS = {"files": "Landlock", "calls": "seccomp"}
"""Mechanisms without which a program is not confined, by what they protect. Restricted builtins and the audit hook are
not among them: they stop no determined program."""


@dataclass(frozen=True)
class Protection:
    """Coverage of one machine."""

    coverage: Mapping[str, bool]
    """Of confinement.platform_coverage: "files", "calls", "memory" and "namespaces"."""
    groups: bool = True
    """Whether every run gets its own control group."""

    @property
    def confines(self) -> bool:
        """Whether a program can reach neither files nor system calls, so that nobody has to be asked."""
        return not self.missing

    @property
    def missing(self) -> tuple[str, ...]:
        """Mechanisms that a program is confined by and that this machine lacks."""
        return tuple(name for key, name in MECHANISMS.items() if not self.coverage.get(key))

    @property
    def refusal(self) -> str:
        """Why a program is refused here and what would work, in one line."""
        reach = " and ".join(
            words
            for key, words in (("files", "your files"), ("calls", "your network and processes"))
            if not self.coverage.get(key)
        )
        return (
            f"This machine cannot confine programs (no {' and no '.join(self.missing)}): one that a model or someone "
            f"else wrote could reach {reach}; read it, then choose Run unconfined in the app or pass --unprotected"
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """What is protected and what is not, one sentence each."""
        has = self.coverage
        return (
            "No file can be written; only the project's scene and Python's libraries can be read (Landlock)."
            if has.get("files")
            else "NOT covered: files. This system has no Landlock, so a program could read and write your files.",
            "No network, no new process, no signals to others (seccomp)."
            if has.get("calls")
            else "NOT covered: network and processes. This system has no seccomp, so a program could use both.",
            "Memory, time and output are limited"
            + (", also for all processes of a run together (cgroup)." if self.groups else ".")
            if has.get("memory")
            else "Time and output are limited. NOT covered: memory, which this system cannot limit.",
            "Other files do not exist for a program, nor does a network (namespaces)."
            if has.get("namespaces")
            else "NOT covered: names, sizes and times of other files, since this system permits no user namespaces.",
        )
