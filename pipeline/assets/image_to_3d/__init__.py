"""Image-to-3D services of the user's: a view of one object in, a mesh out.

GRS_IMAGE_TO_3D=NAME:http://host:port names one of the entry points `grs_studio.image_to_3d`; a plug-in that knows its
own address is named by NAME alone. What is sent goes to that address and nowhere else.
"""

from pipeline import plugins
from pipeline.assets.image_to_3d.service import ImageTo3D, Made, ObjectView, ServiceCancelled, ServiceError
from pipeline.models.settings import is_web_address, strip_credentials
from pipeline.secret_environment import environment_value

__all__ = ["ImageTo3D", "Made", "ObjectView", "ServiceCancelled", "ServiceError", "service_from_environment"]

VARIABLE = "GRS_IMAGE_TO_3D"
DEFAULT_NAME = "trellis-projectorz"
"""What an address alone names, as it did before there were others."""


def service_from_environment() -> ImageTo3D | None:
    """Return the service that GRS_IMAGE_TO_3D names, or None. Raises ServiceError, PluginError."""
    value = environment_value(VARIABLE) or ""
    if not value:
        return None
    if is_web_address(value):
        return plugins.load("image_to_3d", DEFAULT_NAME)(value)
    name, separator, address = value.partition(":")
    if name in plugins.entries("image_to_3d") and (not separator or is_web_address(address)):
        built_in = plugins.is_built_in(plugins.entries("image_to_3d")[name])
        if separator or not built_in:
            service = plugins.load("image_to_3d", name)
            return service(address) if separator else service()
    names = ", ".join(plugins.entries("image_to_3d"))
    raise ServiceError(
        f'{VARIABLE} is "{strip_credentials(value)}"; it takes NAME:ADDRESS, such as hunyuan3d:http://localhost:8081, '
        f"or the NAME of a plug-in that knows its address; NAME is one of {names}"
    )
