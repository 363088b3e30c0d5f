"""How MuJoCo can draw on this machine: through EGL or OSMesa without a screen, through GLFW where there is one.

MuJoCo and dm_control read `MUJOCO_GL` when they are imported, and a library that does not work may end the process. So
this module imports neither: each way is tried in a process of its own, and the choice is made before the imports.
"""

import os
import subprocess
import sys

from ..errors import UserError

VARIABLE = "MUJOCO_GL"
NONE = "disable"  # MuJoCo, dm_control and Gymnasium then raise an error instead of trying
PATIENCE = 60  # seconds; drivers have hung
INSTALL = "on Debian or Ubuntu, apt-get install libegl1 libgl1-mesa-dri (EGL) or libosmesa6 (OSMesa)"

PROBE = """
import mujoco
model = mujoco.MjModel.from_xml_string("<mujoco><worldbody><light/><geom size='1'/></worldbody></mujoco>")
data = mujoco.MjData(model)
mujoco.mj_forward(model, data)
with mujoco.Renderer(model, 32, 32) as renderer:
    renderer.update_scene(data)
    picture = renderer.render()
assert picture.min() < picture.max()
"""


def has_screen() -> bool:
    """Return whether a window can be opened. Systems other than Linux have no variable that says so."""
    return sys.platform != "linux" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


def check_screen() -> None:
    """Raise a UserError where no window can be opened."""
    if not has_screen():
        raise UserError(
            "there is no screen for a window: neither DISPLAY nor WAYLAND_DISPLAY is set; write a film with --video"
        )


def candidates() -> tuple[str, ...]:
    """Return the ways to try, best first: the one that the user has set, or all of this system."""
    if chosen := os.environ.get(VARIABLE):
        return (chosen,)
    return (*(("egl", "osmesa") if sys.platform == "linux" else ()), *(("glfw",) if has_screen() else ()))


def works(way: str) -> bool:
    """Draw a ball in another process."""
    command = [sys.executable, "-P", "-c", PROBE]  # -P: no module of the current folder
    try:
        done = subprocess.run(command, env={**os.environ, VARIABLE: way}, capture_output=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def choose() -> str:
    """Set `MUJOCO_GL` to the first way that works, and return it; NONE where none does. Not every task needs one."""
    way = next(filter(works, candidates()), NONE)
    chosen = os.environ.get(VARIABLE) or NONE
    if way == NONE != chosen:
        raise UserError(f"MuJoCo cannot draw with {VARIABLE}={chosen}: unset it, or {INSTALL}")
    os.environ[VARIABLE] = way
    return way


def missing() -> str:
    """Return what to do where MuJoCo cannot draw; empty where it can, or where nobody has looked."""
    if os.environ.get(VARIABLE) != NONE:
        return ""
    return f"MuJoCo can draw neither with EGL nor with OSMesa on this machine: {INSTALL}"
