"""The start of a process, with a torch that is a few lines long: nothing here needs the real one."""

import shutil
import subprocess
import sys

import pytest
from conftest import PYTHON_SIDE, environment

FAKE_TORCH = """
import types
__version__ = "2.11.0+fake"
version = types.SimpleNamespace(cuda="13.0")
cuda = types.SimpleNamespace(is_initialized=lambda: False)
class Tensor: pass
"""


@pytest.fixture
def fake_torch(tmp_path):
    folder = tmp_path / "fake" / "torch"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(FAKE_TORCH)
    return folder.parent


def test_a_script_without_torch_leaves_nothing(attempt):
    done = attempt("print('hi')")
    assert done.code == 0 and done.out == "hi\n" and done.events == []


def test_the_script_sees_its_own_world(attempt, tmp_path):
    done = attempt("import sys; print(sys.argv[1:], __name__, sys.path)", "--lr", "1")
    assert done.out.startswith(f"['--lr', '1'] __main__ ['{tmp_path}'")
    assert str(PYTHON_SIDE) not in done.out


def test_without_a_session_nothing_is_loaded(tmp_path):
    env = environment(tmp_path, (), {})
    del env["OOMPH_SESSION"]
    out = subprocess.check_output(
        [sys.executable, "-c", "import sys; print('oomph' in sys.modules)"], env=env, text=True
    )
    assert out == "False\n"


def test_another_sitecustomize_still_runs(attempt, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "sitecustomize.py").write_text("import builtins; builtins.ran = __name__")
    done = attempt("print(ran)", path=[other])
    assert done.out == "sitecustomize\n"


def test_another_sitecustomize_that_fails_does_not_switch_us_off(attempt, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "sitecustomize.py").write_text("1/0")
    done = attempt("raise ValueError('mine')", path=[other])
    assert done.one("error")["message"] == "ValueError: mine"


def test_torch_is_noticed(attempt, fake_torch):
    done = attempt("import torch; print(torch.__loader__.__class__.__name__)", path=[fake_torch])
    assert done.one("hello")["torch"] == "2.11.0+fake"
    assert done.one("progress") | {"t": 0} == {"event": "progress", "t": 0, "what": "importing", "detail": "torch"}
    assert done.out == "SourceFileLoader\n"
    assert done.one("end")["reason"] == "finished" and done.one("end")["used_cuda"] is False


def test_torch_is_noticed_when_another_module_imports_it(attempt, fake_torch, tmp_path):
    (tmp_path / "models.py").write_text("import torch")
    assert attempt("import models", path=[fake_torch]).one("hello")["pid"]


def test_torch_is_noticed_after_somebody_asked_whether_it_is_there(attempt, fake_torch):
    script = (
        "from importlib.util import find_spec; print(find_spec('torch') is not None, find_spec('torch') is not None)"
    )
    done = attempt(f"{script}\nimport torch", path=[fake_torch])
    assert done.out == "True True\n" and done.one("hello")["torch"] == "2.11.0+fake"
    assert done.one("progress")["detail"] == "torch"


def test_what_fails_on_our_side_is_a_warning(attempt, fake_torch):
    done = attempt("import torch; print('fine')", path=[fake_torch])
    assert done.code == 0 and done.out == "fine\n"
    assert {warning["code"] for warning in done.of("warning")} == {"internal"}


def test_an_import_that_fails_can_be_tried_again(attempt, fake_torch):
    (fake_torch / "torch" / "__init__.py").write_text(
        "import builtins\nif not hasattr(builtins, 'again'): 1/0\n" + FAKE_TORCH
    )
    script = """
        import builtins
        try:
            import torch
        except ZeroDivisionError:
            builtins.again = True
            import torch
    """
    assert attempt(script, path=[fake_torch]).one("hello")


def test_an_error_is_told_and_shown_as_python_does(attempt):
    done = attempt("def f():\n    raise KeyError('lr')\nf()")
    assert done.code == 1
    error = done.one("error")
    assert error["kind"] == "exception" and error["message"] == "KeyError: 'lr'"
    assert error["traceback"] == done.err
    assert str(PYTHON_SIDE) not in done.err
    assert done.one("end")["reason"] == "error"


@pytest.mark.parametrize(
    ("line", "kind"),
    [("import no_such_module", "import"), ("exec('x =')", "syntax"), ("raise KeyboardInterrupt", "interrupt")],
)
def test_kinds_of_errors(attempt, line, kind):
    done = attempt(line)
    assert done.one("error")["kind"] == kind and done.code != 0
    assert done.one("end")["reason"] == ("interrupted" if kind == "interrupt" else "error")


def test_an_error_behind_a_foreign_excepthook(attempt):
    done = attempt("import sys\nsys.excepthook = lambda *a: print('custom')\nraise ValueError('x')")
    assert done.out == "custom\n" and done.one("error")["message"] == "ValueError: x"
    assert done.one("end")["reason"] == "error"


def test_leaving_with_a_code_is_no_error(attempt, fake_torch):
    done = attempt("import sys, torch; sys.exit(3)", path=[fake_torch])
    assert done.code == 3 and not done.of("error") and done.one("end")["reason"] == "finished"


def test_a_forked_child_says_nothing_of_its_own(attempt, fake_torch):
    script = """
        import os, sys, torch
        pid = os.fork()
        if pid == 0:
            sys.exit(0)
        os.waitpid(pid, 0)
    """
    done = attempt(script, path=[fake_torch])
    assert len(done.by_process) == 1 and done.one("end")


def test_out_of_memory_by_its_words(attempt, fake_torch, tmp_path):
    script = """
        import torch
        def build():
            raise RuntimeError("CUDA error: out of memory")
        try:
            build()
        except RuntimeError as error:
            raise ValueError("could not build") from error
    """
    done = attempt(script, path=[fake_torch])
    oom = done.one("oom")
    assert oom["phase"] == "init" and oom["step"] == 0 and oom["caught"] is False and oom["requested_bytes"] is None
    assert oom["location"] == {
        "file": str(tmp_path / "train.py"),
        "line": 4,
        "code": 'raise RuntimeError("CUDA error: out of memory")',
    }
    assert "could not build" in oom["traceback"]
    assert done.one("end")["reason"] == "oom" and done.code == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["-m", "pip", "--version"],
        ["-c", "from multiprocessing.resource_tracker import main; import sys; print('oomph.start' in sys.modules)"],
    ],
)
def test_helper_processes_are_left_alone(arguments):
    from oomph.start import is_helper

    assert is_helper([sys.executable, *arguments])
    assert not is_helper([sys.executable, "train.py", "--pip"])
    assert not is_helper([sys.executable, "-m", "torch.distributed.run", "train.py"])


def test_a_start_costs_little(tmp_path):
    """A few modules of ours and none that is slow: 2 ms. What watches files has its own cost, and is left out."""
    shutil.copytree(PYTHON_SIDE, tmp_path / "python", ignore=shutil.ignore_patterns("tests", "files.py", "offline.py"))
    env = {**environment(tmp_path, (), {}), "PYTHONPATH": str(tmp_path / "python")}
    without = {key: value for key, value in env.items() if key not in ("OOMPH_SESSION", "PYTHONPATH")}

    def loaded(env):
        code = "import sys; print(*sys.modules)"
        return set(subprocess.check_output([sys.executable, "-c", code], env=env, text=True).split())

    more = loaded(env) - loaded(without)
    assert {"oomph.start", "oomph.events"} <= more
    assert not more & {"json", "re", "functools", "collections", "threading", "ctypes", "typing", "tempfile"}
    assert len(more) < 20


def test_modules_that_are_no_files_import_as_ever(attempt):
    done = attempt("import sqlite3, zipimport, faulthandler, _sqlite3; print(sqlite3.sqlite_version_info > (3,))")
    assert done.out == "True\n", done.err
