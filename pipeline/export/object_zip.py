"""Export of one object of the twin as a zip: MJCF that loads alone, or URDF for other simulators."""

import io
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar
from xml.etree import ElementTree

from pipeline.export.export_format import ExportError
from pipeline.export.formats.urdf import object_urdf
from pipeline.export.project_zip import zip_entry
from pipeline.scene.mjcf import builder
from pipeline.scene.mjcf.mesh_export import portable_xml
from pipeline.scene.placement import Placement

_File = TypeVar("_File")


def object_zip(p: Placement, file_format: str) -> bytes:
    """Return a zip of the object as "mjcf" or "urdf", with its size, mass, friction and meshes.

    The origin is the centre of the object's box. Raises ExportError for an unknown format, SceneError if the meshes
    cannot be read.
    """
    is_mjcf = file_format == "mjcf"
    if not is_mjcf and file_format != "urdf":
        raise ExportError(f'there is no object format "{file_format}"; choose "mjcf" or "urdf"')
    spec = builder.build_object(p if is_mjcf else replace(p, model=None))  # a URDF is closed and rigid
    model = builder.compile_spec(spec)
    if is_mjcf:
        text = portable_xml(spec)
        files = {f"{p.name}.xml": text.encode(), **files_of(text, spec.assets)}
    else:
        files = object_urdf(p.name, model)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for file, data in (files | {"LICENCE.txt": _licence(p).encode()}).items():
            archive.writestr(zip_entry(f"{p.name}/{file}"), data)
    return packed.getvalue()


def files_of(xml: str, files: Mapping[str, _File]) -> dict[str, _File]:
    """Return those of the files that a model's XML names."""
    named = {
        element.get(key)
        for element in ElementTree.fromstring(xml).iter()
        for key in element.attrib
        if key.startswith("file")
    }
    return {name: file for name, file in sorted(files.items()) if name in named}


def _licence(p: Placement) -> str:
    known = p.licence or "unknown; ask the author"
    return f"{p.name}\nlicence: {known}\nprovenance: {p.provenance or p.asset_id or 'made from the photograph'}\n"
