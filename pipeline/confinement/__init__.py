"""Confinement of processes by the kernel: files, system calls, namespaces, capabilities, memory and lifetime."""

from pipeline.confinement.privileges import end_with_parent
from pipeline.confinement.process import MEGABYTE, SYSTEM_LIBRARIES, confine, library_folders, platform_coverage

__all__ = ["MEGABYTE", "SYSTEM_LIBRARIES", "confine", "end_with_parent", "library_folders", "platform_coverage"]
