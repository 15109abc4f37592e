"""A driver for each operation of the API: a function that makes it succeed once. `DRIVERS` has them
by operationId, with the status that they get; every module of this package adds its own."""

import importlib
import pkgutil

DRIVERS = {}


def driver(operation, status=None):
    """`status`: of an operation that never succeeds; else it is the document's success."""

    def add(function):
        if operation in DRIVERS:
            raise RuntimeError(operation + " has two drivers")
        DRIVERS[operation] = (function, status)
        return function

    return add


def load():
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return DRIVERS
