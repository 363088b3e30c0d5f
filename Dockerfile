# syntax=docker/dockerfile:1
# docker build -t teen .                          for the CPU
# docker build -t teen --build-arg CUDA=13 .      for NVIDIA GPUs: 13 or 12, see docs/gpu.md
# docs/install.md says how to run it.
FROM python:3.12-slim-bookworm

# EnvPool links libEGL and libOpenGL, also where nothing is drawn; MuJoCo draws with EGL or OSMesa. Debian keeps one
# version of each at a time, so a pinned one would soon be gone.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends libegl1 libgl1-mesa-dri libopengl0 libosmesa6 \
    && rm -rf /var/lib/apt/lists/*

# What changes seldom comes first: the locked packages, then JAX's for a GPU.
WORKDIR /opt/teen
COPY requirements.lock requirements-dev.lock ./
RUN --mount=type=cache,target=/root/.cache/pip pip install -r requirements.lock
ARG CUDA=
RUN --mount=type=cache,target=/root/.cache/pip \
    if [ -n "$CUDA" ]; then pip install -c requirements.lock "jax[cuda$CUDA]"; fi

# Extras of pyproject.toml, with commas between them; requirements-dev.lock has their versions, too.
ARG EXTRAS=video
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN --mount=type=cache,target=/root/.cache/pip \
    pip install -c requirements.lock -c requirements-dev.lock ".${EXTRAS:+[$EXTRAS]}"

# Runs are written to /work, on which a folder of the host is mounted. Any user may run it.
RUN useradd --create-home --uid 1000 teen && install -d -o teen /work
ENV MPLCONFIGDIR=/tmp/matplotlib \
    NVIDIA_DRIVER_CAPABILITIES=compute,graphics,utility
USER 1000
WORKDIR /work
ENTRYPOINT ["teen"]
CMD ["--help"]
