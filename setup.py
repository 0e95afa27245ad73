"""The compiled part of the package; all else about it is in setup.cfg.

Where there is no compiler it is built without, is slower, and says so; with
TB_GRADGRAPH_REQUIRE_NATIVE=1 that is an error.
"""

import os
import sys
import sysconfig

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # setuptools before 70.1
    from wheel.bdist_wheel import bdist_wheel

NATIVE = "tb_gradgraph/summarize/csrc/"
SOURCES = (
    "module.c",
    "reducer.c",
    "hooks.c",
    "keyed.c",
    "made.c",
    "calls.c",
    "snapshot.c",
    "tensors.c",
    "asked.c",
    "elements.c",
    "moments.c",
    "units.c",
)
HEADERS = (
    "module.h",
    "reducer.h",
    "keyed.h",
    "made.h",
    "tensors.h",
    "asked.h",
    "elements.h",
    "moments.h",
    "units.h",
    "dlpack.h",
)
MISSING = (
    "tb_gradgraph: expected to compile summarize/csrc, which failed (see above): this build has no compiled "
    "statistics. On the CPU the same numbers cost several times as much. Install a C compiler and "
    "Python's headers, and build again."
)


class BuildNative(build_ext):
    """Says so where the compiled part could not be built."""

    def run(self):
        """Build, and look whether it is there."""
        super().run()
        built = (
            os.path.join(self.build_lib, self.get_ext_filename(e.name)) for e in self.extensions
        )
        if not all(map(os.path.exists, built)):
            if os.environ.get("TB_GRADGRAPH_REQUIRE_NATIVE") == "1":
                raise SystemExit(MISSING)
            self.distribution.lacks_native = True
            print(f"WARNING: {MISSING}", file=sys.stderr, flush=True)


class TaggedWheel(bdist_wheel):
    """A wheel that lost its compiled part is for every platform, and is named so."""

    def get_tag(self):
        """Give the tag of what was built."""
        if getattr(self.distribution, "lacks_native", False):
            self.root_is_pure = True
        return super().get_tag()


#: A free-threaded Python has no limited API before 3.15. Importing an extension that is not marked
#: as free-threaded would turn the global lock on for all threads.
HAS_LOCK = not sysconfig.get_config_var("Py_GIL_DISABLED")

setup(
    ext_modules=[
        Extension(
            "tb_gradgraph.summarize._native",
            sources=[NATIVE + name for name in SOURCES],
            depends=[NATIVE + name for name in HEADERS],
            define_macros=[("Py_LIMITED_API", "0x030A0000")],
            extra_compile_args=["-O3"],
            py_limited_api=True,
            optional=True,
        )
    ]
    if HAS_LOCK
    else [],
    cmdclass={"build_ext": BuildNative, "bdist_wheel": TaggedWheel},
    options={"bdist_wheel": {"py_limited_api": "cp310"}} if HAS_LOCK else {},
)
