"""What pyproject.toml can't say: orbloom/_ffi.py is made of orbloom.h."""

from setuptools import setup

setup(cffi_modules=["build_ffi.py:ffi"])
