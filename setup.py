"""Compile the kernels when the package is built, so that nobody waits for a compiler later.

Every .pyx under src is a kernel. One that needs a library, or other flags than the usual ones, says
so in its first lines, for example:

    # distutils: libraries = npyrandom
    # distutils: extra_compile_args = IN_ORDER
"""

import gzip
import os
import tarfile
from pathlib import Path

import numpy as np
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist

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


class Kernels(build_ext):
    """Builds them by GCC or Clang, with no folder of this machine in what is built."""

    def build_extensions(self):
        if self.compiler.compiler_type == "msvc":
            raise SystemExit(
                "evenhand's kernels need GCC or Clang, whose vectors MSVC does not have. "
                "On Windows, install evenhand inside WSL."
            )
        # Some Pythons have every extension search their own folder, which others do not have.
        self.compiler.linker_so = [
            word for word in self.compiler.linker_so if not word.startswith("-Wl,-rpath")
        ]
        super().build_extensions()


class DatedSdist(sdist):
    """Dates everything by SOURCE_DATE_EPOCH, so that the same sources make the same bytes."""

    def make_archive(self, base_name, format, root_dir=None, base_dir=None, **owner):
        epoch = os.environ.get("SOURCE_DATE_EPOCH")
        if epoch is None or format != "gztar":
            return super().make_archive(base_name, format, root_dir, base_dir, **owner)
        path = Path(f"{base_name}.tar.gz")
        path.parent.mkdir(parents=True, exist_ok=True)
        with (
            path.open("wb") as file,
            gzip.GzipFile("", "wb", fileobj=file, mtime=int(epoch)) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
        ):
            for source in sorted(Path(base_dir).rglob("*")):
                if source.is_file():
                    archive.add(source, filter=lambda info: dated(info, int(epoch)))
        return str(path)


def dated(info, epoch):
    info.mtime, info.uid, info.gid, info.uname, info.gname = epoch, 0, 0, "", ""
    info.mode = 0o755 if info.mode & 0o100 else 0o644
    return info


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

setup(
    options={"build_ext": {"parallel": os.cpu_count()}},
    ext_modules=kernels,
    cmdclass={"build_ext": Kernels, "sdist": DatedSdist},
)
