#!/usr/bin/env bash
# Packs the simulators into one archive, for a cluster whose machines cannot reach a package index.
#
#   scripts/pack-simulators.sh OUT.tgz [PACKAGE ...]            e.g. scripts/pack-simulators.sh simulators.tgz
#   TARGET_PYTHON=3.11 scripts/pack-simulators.sh OUT.tgz       for another Python than 3.12
#
# Run it on a Linux machine where `pip download` works. The archive is for Linux on x86-64 with glibc 2.28 or newer and
# the Python named by TARGET_PYTHON. It holds EnvPool with the MuJoCo and DeepMind Control tasks (for Python 3.11 without
# the finger's: that EnvPool is too old for them), gymnasium, mujoco, the small packages they need, tomli-w, and each
# PACKAGE you name (without that package's own dependencies). jax, optax, numpy, rich, safetensors and matplotlib must
# already be on the cluster.
#
# There:
#   mkdir simulators && tar -C simulators -xzf OUT.tgz
#   export PYTHONPATH=$PWD/simulators:$PWD/src
#   export LD_LIBRARY_PATH=$PWD/simulators/glibs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
#   python -m teen envs
#
# EnvPool ships every game it has, over 700 MB with its assets. The MuJoCo ones are kept, without the suite's dog, whose
# meshes are large: about 19 MB packed.
set -euo pipefail

out=$(realpath -m "${1:?name the archive to write, such as simulators.tgz}")
shift
target=${TARGET_PYTHON:-3.12}
python=${PYTHON:-python3}

# Written for EnvPool 1.2.7, the newest for Python 3.12 and later; 1.2.5 is the last one for 3.11. EnvPool's assets are
# a package of their own: the bounds are those that EnvPool names, to be raised with it.
case $target in
  3.11) envpool='envpool>=1.2,<1.2.6' assets='envpool-assets>=0.3,<0.4' ;;
  *) envpool=envpool assets='envpool-assets>=0.4.1,<0.5' ;;
esac
mujoco='mujoco>=3.1,!=3.5.*,!=3.6.*,<4' # as in pyproject.toml

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/wheels" "$work/site" "$(dirname "$out")"
get() {
  "$python" -m pip download -qq -d "$work/wheels" --no-deps --python-version "$target" --only-binary=:all: \
    --platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64 \
    --platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64 "$@"
}
get "$envpool" "$assets" dm-env optree typing_extensions
get gymnasium cloudpickle farama-notifications
get "$mujoco" glfw imageio # Gymnasium imports the last two with every MuJoCo task
get tomli-w "$@"

cd "$work/site"
for wheel in "$work"/wheels/*.whl; do "$python" -m zipfile -e "$wheel" .; done

# Only the MuJoCo families of EnvPool, and nothing for drawing
find envpool -name '*.so' ! -name 'mujoco_dmc_envpool*' ! -name 'mujoco_gym_envpool*' -delete
find envpool -type f -size +2M ! -name 'mujoco_*envpool*.so' -delete
rm -rf envpool.libs/libQt* mujoco/studio mujoco/experimental mujoco/_render_filament*
find envpool_assets -mindepth 1 -maxdepth 1 -type d ! -name mujoco -exec rm -rf {} +
find envpool_assets/mujoco -mindepth 1 -maxdepth 1 ! -name assets_gym ! -name assets_dmc -exec rm -rf {} +
rm -rf envpool_assets/mujoco/assets_dmc/dog* envpool_assets/mujoco/assets_dmc/*skin*
printf 'import envpool.mujoco.%s.registration\n' dmc gym >envpool/entry.py

# EnvPool links these even where nothing is drawn, and a bare machine often lacks them (1.2.5 brings its own)
mkdir glibs
for lib in libEGL.so.1 libOpenGL.so.0 libGLdispatch.so.0; do
  found=$(ldconfig -p | awk -v lib="$lib" '$1 == lib {print $NF; exit}')
  if [ -n "$found" ]; then
    cp -L "$found" glibs/
  else
    echo "$lib is not on this machine and not packed: the cluster must have it" >&2
  fi
done

tar -czf "$out" .
echo "$out: $(du -h "$out" | cut -f1)"
