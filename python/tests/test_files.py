"""A try is safe: the user's files stay, what the script made is known, and a twin leaves no trace."""

import glob
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import pytest
from child import in_child
from conftest import PYTHON_SIDE


@pytest.fixture
def world(tmp_path):
    """A project of the user's: some files, a checkpoint folder, and a session elsewhere."""
    (tmp_path / "project" / "runs").mkdir(parents=True)
    (tmp_path / "session").mkdir()
    (tmp_path / "project" / "log.txt").write_text("before\n")
    (tmp_path / "project" / "runs" / "best.pt").write_text("precious")
    return World(tmp_path)


class World:
    def __init__(self, root):
        self.root, self.project, self.session = root, root / "project", root / "session"
        self.before = self.listing()
        self.events = []

    def enter(self, **options):
        from oomph import files

        os.chdir(self.project)
        files.install(str(self.session), self.events.append, **options)
        return files

    def listing(self):
        """What is on the disk, read by another program."""
        script = "import pathlib,sys,json;print(json.dumps({str(p):p.read_text() if p.is_file() else None for p in sorted(pathlib.Path(sys.argv[1]).rglob('*'))}))"  # noqa: E501
        import json

        env = {key: value for key, value in os.environ.items() if key != "OOMPH_SESSION"}
        return json.loads(subprocess.check_output([sys.executable, "-c", script, self.project], env=env))

    @property
    def created(self):
        return [event["path"] for event in self.events if event["event"] == "created"]

    def only_added(self, *names):
        now = self.listing()
        assert {path: now[path] for path in self.before} == self.before
        assert sorted(now.keys() - self.before.keys()) == sorted(str(self.project / name) for name in names)


@in_child
def test_a_new_file_is_made_in_place_and_written_down(world):
    world.enter()
    with open("new.txt", "w") as file:
        file.write("hello")
    pathlib.Path("deep/er").mkdir(parents=True)
    pathlib.Path("deep/er/x").write_text("x")
    world.only_added("new.txt", "deep", "deep/er", "deep/er/x")
    assert world.created == [str(world.project / name) for name in ("new.txt", "deep", "deep/er", "deep/er/x")]


@in_child
def test_a_file_of_the_users_is_written_to_a_copy(world):
    world.enter()
    with open("log.txt", "a") as file:
        file.write("more\n")
    assert open("log.txt").read() == "before\nmore\n"
    assert os.path.getsize("log.txt") == len("before\nmore\n")
    pathlib.Path("runs/best.pt").write_bytes(b"overwritten")
    assert pathlib.Path("runs/best.pt").read_text() == "overwritten"
    world.only_added()
    assert world.created == []


@in_child
def test_every_way_to_write_is_covered(world):
    world.enter()
    number = os.open("log.txt", os.O_WRONLY | os.O_TRUNC)
    os.write(number, b"x")
    os.close(number)
    os.truncate("runs/best.pt", 2)
    assert open("runs/best.pt").read() == "pr"
    os.chmod("log.txt", 0o600)
    os.utime("runs/best.pt", (1, 1))
    shutil.copyfile("runs/best.pt", "log.txt")
    shutil.copy2("runs/best.pt", "log.txt")
    with open("log.txt", "r+") as file:
        file.write("Q")
    with pytest.raises(FileExistsError):
        open("log.txt", "x")
    os.link("log.txt", "second")
    pathlib.Path("second").write_text("through the link")
    world.only_added("second")


@in_child
def test_deleting_is_pretended(world):
    world.enter()
    os.remove("log.txt")
    assert not os.path.exists("log.txt") and "log.txt" not in os.listdir(".")
    with pytest.raises(FileNotFoundError):
        open("log.txt")
    with pytest.raises(FileNotFoundError):
        os.remove("log.txt")
    shutil.rmtree("runs")
    assert not pathlib.Path("runs").exists() and glob.glob("runs*") == []
    os.makedirs("runs")
    assert os.listdir("runs") == []
    pathlib.Path("runs/best.pt").write_text("again")
    assert os.listdir("runs") == ["best.pt"] and pathlib.Path("runs/best.pt").read_text() == "again"
    world.only_added()


@in_child
def test_what_the_try_made_is_free(world):
    world.enter()
    os.makedirs("checkpoint-1")
    for text in ("one", "two"):
        pathlib.Path("checkpoint-1/model").write_text(text)
    os.rename("checkpoint-1", "checkpoint-2")
    assert pathlib.Path("checkpoint-2/model").read_text() == "two"
    pathlib.Path("checkpoint-2/model").write_text("three")
    pathlib.Path("tmp.txt").write_text("x")
    os.replace("tmp.txt", "final.txt")
    assert str(world.project / "final.txt") in world.created
    shutil.rmtree("checkpoint-2")
    os.remove("final.txt")
    world.only_added()


@in_child
def test_renaming_onto_or_away_from_the_users_files(world):
    world.enter()
    pathlib.Path("log.tmp").write_text("atomic")
    os.replace("log.tmp", "log.txt")
    assert open("log.txt").read() == "atomic" and not os.path.exists("log.tmp")
    os.rename("runs/best.pt", "runs/old.pt")
    assert open("runs/old.pt").read() == "precious" and not os.path.exists("runs/best.pt")
    shutil.move("runs", "archive")
    assert open("archive/old.pt").read() == "precious"
    pathlib.Path("archive/best.pt").write_text("seen through")
    now = world.listing()
    assert {path: now[path] for path in world.before} == world.before


@in_child
def test_temporary_files_work(world):
    world.enter()
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "x").write_text("x")
    assert not os.path.exists(folder)
    with tempfile.NamedTemporaryFile("w") as file:
        file.write("x")
    assert not os.path.exists(file.name)
    with tempfile.TemporaryFile() as file:
        file.write(b"x")
    open("/dev/null", "w").write("x")


@in_child
def test_errors_stay_python_s_own(world):
    world.enter()
    for call in (lambda: open("nowhere/x", "w"), lambda: os.remove("nothing"), lambda: os.rename("nothing", "x")):
        with pytest.raises(FileNotFoundError):
            call()
    with pytest.raises(FileExistsError):
        os.mkdir("runs")
    with pytest.raises(OSError, match="not empty"):
        os.rmdir("runs")
    with pytest.raises(IsADirectoryError):
        open("runs", "w")
    with pytest.raises(IsADirectoryError):
        os.remove("runs")
    with pytest.raises(TypeError):
        open(3.5, "w")
    with pytest.raises(ValueError, match="null"):
        open("a\0b", "w")


@in_child
def test_other_processes_of_the_try_know_what_is_ours(world):
    files = world.enter()
    pathlib.Path("shared.txt").write_text("first")
    files._overlay.created.clear()
    files._overlay.journal._seen = 0
    pathlib.Path("shared.txt").write_text("second")
    world.only_added("shared.txt")
    assert world.listing()[str(world.project / "shared.txt")] == "second"


@in_child
def test_a_link_to_a_file_of_the_users_does_not_open_it(world):
    os.symlink(world.project / "log.txt", world.root / "link")
    world.enter()
    pathlib.Path(world.root / "link").write_text("through")
    assert pathlib.Path("log.txt").read_text() == "through"
    world.only_added()


@in_child
def test_a_large_file_is_not_copied(world, monkeypatch):
    from oomph import copies

    monkeypatch.setattr(copies, "LARGEST", 3)
    world.enter()
    with open("log.txt", "r+b") as file:
        assert file.read() == b"\0" * len("before\n")
    world.only_added()


@in_child
def test_a_twin_leaves_no_trace(world, capfd):
    files = world.enter()
    pathlib.Path("mine.txt").write_text("before the fork")
    log = open("log2.txt", "w")
    log.write("before\n")
    log.flush()
    data = open("runs/best.pt", "rb", buffering=0)
    assert data.read(3) == b"pre"
    before, told = world.listing(), list(world.events)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            files.become_twin()
            _twin_script(log, data)
            print("a twin is silent", flush=True)
            os.write(writing, b"ok" if world.events == told else b"told")
        except BaseException as error:
            os.write(writing, repr(error).encode())
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    assert os.read(reading, 1000) == b"ok"
    assert world.listing() == before
    assert data.read(3) == b"cio", "the twin moved our position"
    log.write("after\n")
    log.close()
    assert world.listing()[str(world.project / "log2.txt")] == "before\nafter\n"


def _twin_script(log, data):
    assert data.read(3) == b"cio"
    log.write("twin\n")
    log.flush()
    pathlib.Path("mine.txt").write_text("twin")
    assert pathlib.Path("mine.txt").read_text() == "twin"
    os.makedirs("out/sub")
    pathlib.Path("out/sub/a").write_text("a")
    assert os.listdir("out/sub") == ["a"] and os.path.exists("out/sub/a")
    assert sorted(entry.name for entry in os.scandir("out")) == ["sub"]
    assert glob.glob("out/*/*") == ["out/sub/a"]
    os.rename("out", "out2")
    assert pathlib.Path("out2/sub/a").read_text() == "a" and not os.path.exists("out")
    shutil.rmtree("out2")
    shutil.rmtree("runs")
    os.remove("log.txt")
    with pytest.raises(FileNotFoundError):
        open("nowhere/x", "w")
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "x").write_text("x")
    assert os.read(0, 1) == b""


@in_child
def test_a_twin_does_not_see_what_others_made_since(world):
    files = world.enter()
    os.makedirs("already")
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            files.become_twin()
            os.read(reading, 1)
            assert not os.path.exists("out") and "out" not in os.listdir(".")
            os.mkdir("out")
            assert os.listdir("out") == []
            open("out/x", "x").close()
            with pytest.raises(FileExistsError):
                os.mkdir("already")
        except BaseException as error:
            os.write(writing, repr(error).encode())
            os._exit(1)
        os._exit(0)
    os.mkdir("out")
    pathlib.Path("out/x").write_text("first")
    os.write(writing, b"!")
    _, status = os.waitpid(child, 0)
    assert status == 0, os.read(reading, 1000)
    assert world.listing()[str(world.project / "out/x")] == "first"


def test_nothing_heavy_is_imported(tmp_path):
    script = (
        "import sys; sys.path.insert(0, sys.argv[2]); before = set(sys.modules); from oomph import files;"
        "files.install(sys.argv[1], print); print(*(set(sys.modules) - before))"
    )
    env = {key: value for key, value in os.environ.items() if not key.startswith("OOMPH_")}
    out = subprocess.check_output([sys.executable, "-c", script, tmp_path, PYTHON_SIDE], env=env, text=True)
    assert not {"json", "shutil", "torch", "tempfile", "pathlib"} & set(out.split()), out


@in_child
def test_libraries_that_open_files_themselves(world):
    import sqlite3

    before = sqlite3.connect(world.project / "runs.db")
    before.execute("create table run (name)")
    before.commit()
    before.close()
    numpy = pytest.importorskip("numpy")
    numpy.arange(1000).tofile(world.project / "tokens.bin")
    content = (world.project / "tokens.bin").read_bytes(), (world.project / "runs.db").read_bytes()
    world.enter()
    from oomph import after

    after.run(sqlite3)
    after.run(numpy)
    database = sqlite3.connect("runs.db")
    database.execute("insert into run values ('mine')")
    database.commit()
    assert database.execute("select * from run").fetchall() == [("mine",)]
    tokens = numpy.memmap("tokens.bin", dtype=numpy.int64)
    tokens[:] = 7
    assert (tokens == 7).all()
    assert (world.project / "tokens.bin").read_bytes() == content[0]
    from oomph.paths import inside

    with inside():
        assert (world.project / "runs.db").read_bytes() == content[1]
    sqlite3.connect("new.db").execute("create table t (x)")
    assert str(world.project / "new.db") in world.created
