"""Compile the kernels when the package is built, so that nobody waits for a compiler later."""

import os
import sys
from pathlib import Path

import numpy as np
from Cython.Build import cythonize
from setuptools import Extension, setup

# What lets the compiler vectorise sums. Not -ffast-math: linking with it would switch off
# subnormal numbers for the user's whole process.
FLAGS = (
    ["/O2"]
    if sys.platform == "win32"
    else [
        "-O3",
        "-g0",  # debug information is half of the time that compiling takes
        "-fno-math-errno",
        "-fno-trapping-math",
        "-fno-signed-zeros",
        "-fassociative-math",
    ]
)

# Where noise is drawn and regret is added up, sums stay in the order in which they are written.
IN_ORDER = (
    ["/O2"] if sys.platform == "win32" else ["-O3", "-g0", "-fno-math-errno", "-ffp-contract=off"]
)
RANDOM = Path(np.get_include(), "..", "..", "random", "lib").resolve()


def kernel(name: str, flags: list[str] = FLAGS, libraries: tuple[str, ...] = ()) -> Extension:
    return Extension(
        name,
        [f"src/{name.replace('.', '/')}.pyx"],
        include_dirs=["src/evenhand", np.get_include()],
        depends=[str(header) for header in Path("src").rglob("*.h")],
        define_macros=[("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION")],
        extra_compile_args=flags,
        libraries=list(libraries),
        library_dirs=[str(RANDOM)],
    )


setup(
    options={"build_ext": {"parallel": os.cpu_count()}},
    ext_modules=cythonize(
        [
            kernel("evenhand.numerics._passes"),
            kernel("evenhand.numerics._bases"),
            kernel("evenhand.designs._simplex"),
            kernel("evenhand.designs._ascent"),
            kernel("evenhand.designs._caratheodory"),
            kernel("evenhand.policies._feedback"),
            kernel("evenhand.policies._sequential"),
            kernel("evenhand.environments._streams", IN_ORDER, ("npyrandom",)),
            kernel("evenhand.simulation._loop", IN_ORDER),
            kernel("evenhand.policies._oful", libraries=("npyrandom",)),
            kernel("evenhand.policies._boundary"),
            kernel("evenhand.policies._ids"),
            kernel("evenhand.policies._priced"),
        ],
        include_path=["src"],
        compiler_directives={
            "language_level": 3,
            "boundscheck": False,
            "wraparound": False,
            "cdivision": True,
            "initializedcheck": False,
        },
    ),
)
