"""The compiled part of the package; all else about it is in setup.cfg.

Where there is no compiler it is built without, and is slower.
"""

from setuptools import Extension, setup

NATIVE = "tb_gradgraph/summarize/csrc/"
SOURCES = ("module.c", "reducer.c", "snapshot.c", "tensors.c", "asked.c", "elements.c", "moments.c")
HEADERS = ("module.h", "tensors.h", "asked.h", "elements.h", "moments.h", "dlpack.h")

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
    ],
    options={"bdist_wheel": {"py_limited_api": "cp310"}},
)
