"""Compile the kernels when the package is built, so that nobody waits for a compiler later."""

import sys

from Cython.Build import cythonize
from setuptools import Extension, setup

# What lets the compiler vectorise sums. Not -ffast-math: linking with it would switch off
# subnormal numbers for the user's whole process.
FLAGS = (
    ["/O2"]
    if sys.platform == "win32"
    else [
        "-O3",
        "-fno-math-errno",
        "-fno-trapping-math",
        "-fno-signed-zeros",
        "-fassociative-math",
    ]
)


def kernel(name: str) -> Extension:
    return Extension(
        name,
        [f"src/{name.replace('.', '/')}.pyx"],
        include_dirs=["src/evenhand"],
        depends=["src/evenhand/_passes.h"],
        extra_compile_args=FLAGS,
    )


setup(
    ext_modules=cythonize(
        [
            kernel("evenhand._passes"),
            kernel("evenhand._bases"),
            kernel("evenhand.designs._simplex"),
            kernel("evenhand.designs._ascent"),
            kernel("evenhand.designs._caratheodory"),
            kernel("evenhand.policies._feedback"),
        ],
        include_path=["src"],
        compiler_directives={
            "language_level": 3,
            "boundscheck": False,
            "wraparound": False,
            "cdivision": True,
            "initializedcheck": False,
        },
    )
)
