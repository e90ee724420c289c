# Whether the Python package is built: by default where pybind11 and Python.h are there.
include_guard()

# Debian's own interpreter has NumPy and PyTorch; another one may stand first in PATH.
set(PYBIND11_FINDPYTHON ON)
if(NOT Python_EXECUTABLE AND EXISTS /usr/bin/python3)
  set(Python_EXECUTABLE /usr/bin/python3)
endif()
# Looked for first, as pybind11 would take a missing Python.h for a reason to end.
find_package(Python 3.9 QUIET COMPONENTS Interpreter Development.Module)
if(Python_FOUND)
  find_package(pybind11 2.10 QUIET)
endif()
set(python_preset OFF)
if(pybind11_FOUND AND SOTTO_DATA AND SOTTO_LEDGER AND PROJECT_IS_TOP_LEVEL)
  set(python_preset ON)
endif()
option(SOTTO_PYTHON "the Python package (pybind11, NumPy); needs SOTTO_DATA and SOTTO_LEDGER" ${python_preset})
