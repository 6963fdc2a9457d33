"""Compile the kernels when the package is built, so that nobody waits for a compiler later.

Every .pyx under src is a kernel. One that needs a library, or other flags than the usual ones, says
so in its first lines, for example:

    # distutils: libraries = npyrandom
    # distutils: extra_compile_args = IN_ORDER
"""

import os
import sys
from pathlib import Path

import numpy as np
from Cython.Build import cythonize
from setuptools import Extension, setup

# What lets the compiler vectorise sums. Not -ffast-math: linking with it would switch off
# subnormal numbers for the user's whole process.
USUAL = [
    "-O3",
    "-g0",  # debug information is half of the time that compiling takes
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fno-signed-zeros",
    "-fassociative-math",
]
# Where noise is drawn and regret is added up, sums stay in the order in which they are written.
IN_ORDER = ["-O3", "-g0", "-fno-math-errno", "-ffp-contract=off"]
if sys.platform == "win32":
    USUAL = IN_ORDER = ["/O2"]

RANDOM = Path(np.get_include(), "..", "..", "random", "lib").resolve()

kernels = cythonize(
    Extension(
        "*",
        ["src/evenhand/**/*.pyx"],
        include_dirs=["src/evenhand", np.get_include()],
        depends=[str(header) for header in Path("src").rglob("*.h")],
        define_macros=[("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION")],
        library_dirs=[str(RANDOM)],
    ),
    include_path=["src"],
    aliases={"IN_ORDER": IN_ORDER},
    nthreads=os.cpu_count() or 1,
    compiler_directives={
        "language_level": 3,
        "boundscheck": False,
        "wraparound": False,
        "cdivision": True,
        "initializedcheck": False,
    },
)
for kernel in kernels:
    kernel.extra_compile_args = kernel.extra_compile_args or USUAL

setup(options={"build_ext": {"parallel": os.cpu_count()}}, ext_modules=kernels)
