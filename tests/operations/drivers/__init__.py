"""Drivers for all operations of the API. A driver is a function that makes an operation succeed once. `DRIVERS`
contains them by operationId, with the expected status; every module of this package adds its own."""

import importlib
import pkgutil

DRIVERS = {}


def driver(operation, status=None):
    """`status` is needed for operations that never succeed; the default is the successful status of the OpenAPI
    document."""

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
