"""Files of the user's run with another text, under their own names."""

import json
import subprocess
import sys
import textwrap

import pytest
from conftest import CONFIG, Outcome, environment, read_events
from warmed import WarmProcess


@pytest.fixture
def changed(tmp_path):
    """changed({file: original}, {file: text that runs}, *command) -> Outcome"""

    def run(originals: dict, texts: dict, *command: str, **config) -> Outcome:
        session, code = tmp_path / "session", tmp_path / "code"
        (session / "patched").mkdir(parents=True, exist_ok=True)
        sources = {}
        for name, text in originals.items():
            (code / name).parent.mkdir(parents=True, exist_ok=True)
            (code / name).write_text(textwrap.dedent(text))
        for number, (name, text) in enumerate(texts.items()):
            place = session / "patched" / f"{number}.py"
            place.write_text(textwrap.dedent(text))
            sources[str(code / name)] = str(place)
        (session / "config.json").write_text(json.dumps({**CONFIG, "sources": sources, **config}))
        done = subprocess.run(
            [sys.executable, *(command or ("train.py", "--lr", "1"))],
            env=environment(session, (), {}),
            cwd=code,
            capture_output=True,
            text=True,
            timeout=60,
        )
        return Outcome(done.returncode, done.stdout, done.stderr, read_events(session))

    return run


ABOUT = """
    import inspect, os, sys
    def where():
        return inspect.getsource(where)
    print(__name__, __file__, __spec__, __package__, __doc__, __builtins__ is __import__("builtins"), __cached__)
    print(type(__loader__).__name__, sys.argv, sys.path[0], sys.modules["__main__"].__dict__ is globals())
    print(where())
    print("TEXT")
"""


def test_a_script_is_run_as_python_runs_it(changed, tmp_path):
    plain = changed({"train.py": ABOUT}, {})
    other = changed({"train.py": "print('not this one')"}, {"train.py": ABOUT.replace("TEXT", "patched")})
    assert plain.code == other.code == 0, other.err
    assert other.out == plain.out.replace("TEXT", "patched")


def test_an_error_shows_the_text_that_ran(changed, tmp_path):
    other = changed(
        {"train.py": "1\n2\n3\n"}, {"train.py": "import sys\ndef f():\n    raise KeyError('mine')  # here\nf()\n"}
    )
    assert other.code == 1 and "raise KeyError('mine')  # here" in other.err
    assert other.err.startswith("Traceback") and other.err.count("File") == 2
    assert other.one("error")["traceback"] == other.err
    assert other.one("error")["message"] == "KeyError: 'mine'" and other.one("end")["reason"] == "error"


def test_a_mistake_in_the_text_is_an_error_of_the_script(changed):
    other = changed({"train.py": ""}, {"train.py": "x = 1\ny = = 2\n"})
    assert other.code == 1 and other.one("error")["kind"] == "syntax" and "y = = 2" in other.err


@pytest.mark.parametrize(
    ("text", "code", "err"),
    [
        ("import sys; sys.exit(3)", 3, ""),
        ("import sys; sys.exit('no')", 1, "no\n"),
        ("raise SystemExit", 0, ""),
        ("import os, signal; os.kill(os.getpid(), signal.SIGINT)\nimport time; time.sleep(5)", -2, None),
    ],
)
def test_the_status(changed, text, code, err):
    other = changed({"train.py": ""}, {"train.py": text})
    assert other.code == code and (err is None or other.err == err)


def test_what_python_does_at_the_end(changed):
    text = """
        import atexit, threading, time
        atexit.register(lambda: print("at exit"))
        def later():
            import site
            time.sleep(0.2)
            print("thread")
        threading.Thread(target=later).start()
        print("main")
    """
    other = changed({"train.py": ""}, {"train.py": text})
    assert other.out == "main\nthread\nat exit\n" and other.code == 0


def test_a_module_of_the_users(changed, tmp_path):
    files = {"train.py": "import models.net as net\nprint(net.size, net.__file__)", "models/__init__.py": ""}
    files["models/net.py"] = "size = 1\n"
    assert changed(files, {}).out.startswith("1 ")
    text = "import inspect, sys\nsize = 2\ndef f(): pass\nprint(inspect.getsource(f))\n"
    other = changed(files, {"models/net.py": text})
    assert other.out == f"def f(): pass\n\n2 {tmp_path}/code/models/net.py\n", other.err
    assert changed(files, {}).out.startswith("1 "), "nothing of it was kept"


def test_a_module_that_is_run(changed):
    files = {"pkg/__init__.py": "", "pkg/mod.py": "print('original')"}
    other = changed(files, {"pkg/mod.py": "import sys\nprint('patched', __name__, sys.argv[1:])"}, "-m", "pkg.mod", "x")
    assert other.out == "patched __main__ ['x']\n", other.err


def test_other_arguments(changed):
    text = "import sys; print(sys.argv, sys.orig_argv[1:])"
    assert changed({"train.py": text}, {}, argv=["train.py", "--lr", "2", "x"]).out == (
        "['train.py', '--lr', '2', 'x'] ['train.py', '--lr', '2', 'x']\n"
    )
    assert changed({"eval.py": text}, {}, "eval.py", "1", argv=["train.py", "2"]).out.startswith("['eval.py', '1']")


def test_from_a_warm_process(tmp_path):
    code = tmp_path / "code"
    code.mkdir()
    (code / "train.py").write_text("print('original')")
    (tmp_path / "text.py").write_text("import torch\nprint('patched', torch.zeros(1, device='cuda').item())")
    with WarmProcess(tmp_path, ["train.py"], code) as warm:
        first = warm.run(sources={str(code / "train.py"): str(tmp_path / "text.py")})
        second = warm.run()
    assert first.output == "patched 0.0\n" and first.one("end")["used_cuda"] is True
    assert first.status == 0 and second.output == "original\n"
