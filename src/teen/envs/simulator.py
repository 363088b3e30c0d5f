"""Save and restore MuJoCo's data, and the fields of its model that tasks change."""

from collections.abc import Iterator
from typing import Any

import mujoco
import numpy as np

from .encoding import Arrays, UnknownState

# What tasks change in MuJoCo's model, mostly at resets: its float fields whose names begin like this. Meshes and
# textures are left out because they are large, and integers because a wrong index would be read out of bounds.
MODEL_FIELDS = (
    *("actuator_", "body_", "dof_", "eq_", "geom_", "hfield_data", "jnt_", "light_", "pair_", "qpos"),
    *("site_", "tendon_", "wrap_"),
)
MODEL_OPTIONS = ("gravity", "wind", "magnetic")
# With these, MuJoCo keeps integers between steps that none of its state functions reads or writes.
UNSAVED_OPTIONS = ("mjENBL_SLEEP", "mjENBL_IPC")
INTEGRATION = int(mujoco.mjtState.mjSTATE_INTEGRATION)


def simulation_arrays(data: mujoco.MjData) -> Arrays:
    """Return MuJoCo's integration state, the arrays derived from it, and the model's fields.

    Tasks read derived arrays before the next step. Those of fixed size lie in one buffer that begins with qpos, and are
    returned as views; those of varying size lie outside of it and are left out.
    """
    integration = np.empty(mujoco.mj_stateSize(data.model, INTEGRATION))
    mujoco.mj_getState(data.model, data, integration, INTEGRATION)
    buffer = range(data.qpos.ctypes.data, data.qpos.ctypes.data + data.nbuffer)
    derived = {name: array for name, array in _float_arrays(data) if array.ctypes.data in buffer or name == "energy"}
    fields = {f"model.{name}": array for name, array in _float_arrays(data.model) if name.startswith(MODEL_FIELDS)}
    options = {f"model.opt.{name}": array for name, array in _float_arrays(data.model.opt) if name in MODEL_OPTIONS}
    return {"integration": integration, **derived, **fields, **options}


def _float_arrays(struct: Any) -> Iterator[tuple[str, np.ndarray]]:
    for name in dir(struct):
        value = getattr(struct, name)
        if isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.size:
            yield name, value


def check_model(model: mujoco.MjModel) -> None:
    """Raise UnknownState when `simulation_arrays` does not hold all of this model's state."""
    if not model.nq:
        raise UnknownState("simulates nothing that has joints")  # an empty qpos does not tell where the buffer begins
    for option in UNSAVED_OPTIONS:
        if model.opt.enableflags & getattr(mujoco.mjtEnableBit, option, 0):
            raise UnknownState(f"simulates with {option}")


def set_simulation(data: mujoco.MjData, saved: Arrays, legacy_step: bool) -> None:
    """Write saved arrays into MuJoCo's data and model."""
    current = simulation_arrays(data)
    for name in current:
        if name.startswith("model."):
            current[name][...] = saved[name]
    mujoco.mj_setState(data.model, data, saved["integration"], INTEGRATION)
    if legacy_step:
        mujoco.mj_step1(data.model, data)  # the suite's next step begins with its second half, from these constraints
    for name in current:
        current[name][...] = saved[name]
