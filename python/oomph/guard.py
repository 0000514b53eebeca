"""Guard: our own mistakes become a warning of the try and never an exception in the script."""

from oomph import events

_told: set[str] = set()


def guarded(function):
    """Call `function`; if it raises, say so once and return None."""

    def call(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except Exception as error:
            _tell(function, error)
            return None

    call.__wrapped__ = function  # functools.wraps would cost every process of a try 3 ms
    return call


def _tell(function, error: Exception) -> None:
    name = f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', function)}"
    if name in _told:
        return
    _told.add(name)
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    file, line = (trace.tb_frame.f_code.co_filename, trace.tb_lineno) if trace else (None, None)
    events.warning("internal", f"{name} failed: {error!r}", file, line)
