# GRS Studio for a team: see docs/teams.md.
#   docker build --tag grs-studio .
#   docker run --rm -it --volume grs:/workspace grs-studio user add ada --role administer
#   docker run --volume grs:/workspace --publish 7860:7860 grs-studio
FROM python:3.11-slim-bookworm AS build
RUN pip install --no-cache-dir "uv>=0.9"
WORKDIR /source
COPY . .
RUN uv build --wheel --out-dir /wheels .

FROM python:3.11-slim-bookworm
# OpenGL in software, and what open3d needs; Debian keeps no older versions to pin
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends libegl1 libgl1 libgles2 libgomp1 libusb-1.0-0 libx11-6 \
    && rm -rf /var/lib/apt/lists/*
COPY requirements.lock /tmp/requirements.lock
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir --constraint /tmp/requirements.lock /wheels/*.whl \
    && rm -rf /wheels /tmp/requirements.lock \
    && useradd --create-home --uid 10001 studio \
    && install --directory --owner=studio --group=studio /workspace
USER 10001
ENV GRS_WORKSPACE=/workspace \
    GRS_USERS=/workspace/.users.json \
    GRADIO_ANALYTICS_ENABLED=False \
    MUJOCO_GL=egl \
    PYOPENGL_PLATFORM=egl
VOLUME /workspace
EXPOSE 7860
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:7860/texts.json', timeout=4)"]
ENTRYPOINT ["grs-studio"]
CMD ["--host", "0.0.0.0", "--port", "7860"]
