"""The overlay: where a script's writes really go, so that nothing of the user's is changed.

A new file is made in place and written down (`created`); the command deletes it at the end. A file that was there
before the try is never written: the script gets a copy in the session's scratch folder and sees that copy from then
on. Deleting it is pretended. What the try itself created can be rewritten, renamed and deleted freely.

A twin (a second run of the same script beside the first) creates nothing in place at all: every write goes to its own
scratch folder, and what others created since the fork is not there for it.

Only Python's own file calls pass through here (files.py): native libraries and other programs do not.
"""

from __future__ import annotations

import errno
import os
import stat

from oomph import copies
from oomph.journal import Journal


class Overlay:
    def __init__(self, directory: str, emit, twin: bool = False) -> None:
        self.emit = emit
        self.twin = False
        self.begin_in(directory, str(os.getpid()) if twin else "files")
        # A twin may start late: what counts for it is what had been made when it was forked.
        os.register_at_fork(before=self.look_around)
        self.twin = twin

    def begin_in(self, directory: str, scratch: str = "files") -> None:
        """Nothing is written yet, and what will be belongs to the try in `directory`."""
        self.session = os.path.realpath(directory)
        self.journal = Journal(os.path.join(self.session, "created"))
        self.created: set[str] = set()
        self.copies: dict[str, str] = {}
        self.gone: set[str] = set()
        self.elsewhere: set[str] = set()
        self.scratch = os.path.join(self.session, "scratch", scratch)
        self._left_alone = (self.session + "/", "/dev/", "/proc/", "/sys/", *_compiler_caches())
        self.look_around()

    def look_around(self) -> None:
        """Learn what other processes of the try made."""
        news = self.journal.news()
        if self.twin:
            self.elsewhere.update(path for path in news if path not in self.created)
        else:
            self.created.update(news)

    def become_twin(self) -> None:
        self.twin = True
        self.emit = _say_nothing
        self.scratch = os.path.join(self.session, "scratch", str(os.getpid()))

    # Questions

    @property
    def is_altered(self) -> bool:
        """Whether reading can find anything else than what is on the disk."""
        return self.twin or bool(self.copies) or bool(self.gone)

    def is_left_alone(self, path: str) -> bool:
        return path.startswith(self._left_alone) or "/__pycache__/" in path

    def is_ours(self, path: str) -> bool:
        """Made by this try, so free to change; a twin owns nothing on the disk."""
        if self.twin:
            return False
        if self._is_created(path):
            return True
        self.look_around()
        return self._is_created(path)

    def _is_created(self, path: str) -> bool:
        while path != "/" and path:
            if path in self.created:
                return True
            path = os.path.dirname(path)
        return False

    def is_visible(self, path: str) -> bool:
        if path in self.copies:
            return True
        return path not in self.gone and not self._is_elsewhere(path) and os.path.lexists(path)

    def _is_elsewhere(self, path: str) -> bool:
        if not self.twin:
            return False
        self.look_around()
        return path in self.elsewhere

    def read(self, path: str) -> str:
        """Where to read what the script calls `path`."""
        if path in self.copies:
            return self.copies[path]
        if path in self.gone or self._is_elsewhere(path):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return path

    def names(self, path: str, found: list[str]) -> list[str]:
        """The names in a folder, as the script should see them."""
        self._is_elsewhere(path)
        hidden = self.gone | self.elsewhere
        own = self._own(path)
        extra = os.listdir(own) if self.twin and os.path.isdir(own) else []
        kept = [name for name in found if os.path.join(path, name) not in hidden]
        return kept + [name for name in extra if name not in kept and os.path.join(path, name) in self.copies]

    # Writing

    def write(self, path: str, keep: bool = True, exclusive: bool = False) -> str | None:
        """Where to write what the script calls `path`; None: there, and it is new (see `record`).

        `keep` says that the present content matters (appending, updating).
        """
        if self.is_left_alone(path):
            return path
        if exclusive and self.is_visible(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
        if path in self.copies and self._is_own(self.copies[path]):
            return self.copies[path]
        there = os.path.lexists(path)
        if not there and not self.twin:
            return None
        if there and (self.is_ours(path) or not _is_plain(path) or not os.access(path, os.W_OK)):
            return path
        return self._copy(path, keep)

    def record(self, path: str) -> None:
        """A new file or folder was made at `path`."""
        if self.twin or self.is_left_alone(path) or path in self.created:
            return
        self.created.add(path)
        self.journal.add(path)
        self.emit({"event": "created", "path": path})

    def _copy(self, path: str, keep: bool) -> str:
        source = self.copies.get(path, path) if keep and self.is_visible(path) else None
        if self.twin:
            self._need_folder(path)
        target = self._make_own(path)
        copies.content(source, target)
        self.copies[path] = target
        self.gone.discard(path)
        return target

    def _own(self, path: str) -> str:
        return self.scratch + path

    def _make_own(self, path: str) -> str:
        target = self._own(path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        return target

    def _is_own(self, path: str) -> bool:
        return path.startswith(self.scratch + "/")

    def _need_folder(self, path: str) -> None:
        folder = os.path.dirname(path)
        if not self.is_visible(folder) and not self.is_left_alone(folder):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)

    # Folders and names

    def mkdir(self, path: str, mode: int = 0o777) -> None:
        if self.twin and not self.is_left_alone(path):
            if self.is_visible(path):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
            self._need_folder(path)
            os.makedirs(self._own(path), exist_ok=True)
            self.copies[path] = self._own(path)
            self.gone.discard(path)
        elif path in self.gone and os.path.isdir(path):
            self.gone.discard(path)
        else:
            os.mkdir(path, mode)
            self.record(path)

    def remove(self, path: str) -> None:
        if self.is_left_alone(path) or self.is_ours(path):
            os.remove(path)
            self.created.discard(path)
            return
        self._need(path)
        if self._is_folder(path):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        self._forget(path)

    def rmdir(self, path: str) -> None:
        if self.is_left_alone(path) or self.is_ours(path):
            os.rmdir(path)
            self.created.discard(path)
            return
        self._need(path)
        if not self._is_folder(path):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
        if self.names(path, os.listdir(path) if os.path.isdir(path) else []):
            raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), path)
        self._forget(path)

    def _need(self, path: str) -> None:
        if not self.is_visible(path):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)

    def _is_folder(self, path: str) -> bool:
        return os.path.isdir(self.copies.get(path, path)) and not os.path.islink(self.copies.get(path, path))

    def _forget(self, path: str) -> None:
        """From now on the script finds nothing at `path`; what is the user's there stays."""
        copy = self.copies.pop(path, None)
        if copy is not None and self._is_own(copy) and os.path.lexists(copy):
            os.rmdir(copy) if self._is_folder(copy) else os.remove(copy)
        if os.path.lexists(path):
            self.gone.add(path)

    def rename(self, source: str, target: str) -> None:
        if not self.twin and self._is_free(source) and (self._is_free(target) or not os.path.lexists(target)):
            os.rename(source, target)
            self._moved(source, target)
            return
        self._need(source)
        if self._is_folder(source):
            self._rename_folder(source, target)
            return
        place = self.write(target, keep=False) or target
        real = self.copies.get(source, source)
        if self._is_free(source) or self._is_own(real):
            copies.move(real, place)
            self.created.discard(source)
        else:
            copies.content(real, place)
        if place == target:
            self.record(target)
        self._forget(source)

    def _is_free(self, path: str) -> bool:
        return self.is_left_alone(path) or self.is_ours(path)

    def _moved(self, source: str, target: str) -> None:
        for path in [path for path in self.created if path == source or path.startswith(source + "/")]:
            self.created.discard(path)
            self.record(target + path[len(source) :])
        self.record(target)

    def _rename_folder(self, source: str, target: str) -> None:
        """Name by name, as far as the names are the try's own; a folder of the user's stays, and is linked to."""
        if self.is_visible(target) and self.names(target, os.listdir(self.read(target))):
            raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), target)
        if source not in self.copies and not self.is_ours(source):
            self.symlink(source, target)
            return
        if not self.is_visible(target):
            self.mkdir(target)
        real = os.listdir(source) if os.path.isdir(source) else []
        for name in self.names(source, real):
            self.rename(os.path.join(source, name), os.path.join(target, name))
        self.rmdir(source)

    def link(self, source: str, target: str) -> None:
        if self.twin or not self._is_free(source):
            # A second name for a file of the user's would be a way to change it; a link on the way is seen through.
            self.symlink(self.read(source), target)
        else:
            os.link(source, target)
            self.record(target)

    def symlink(self, source: str, target: str) -> None:
        if self.twin and not self.is_left_alone(target):
            if self.is_visible(target):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
            self._need_folder(target)
            self.copies[target] = self._make_own(target)
            os.symlink(os.path.join(os.path.dirname(target), source), self.copies[target])
        else:
            os.symlink(source, target)
            self.record(target)


def _say_nothing(event: dict) -> None:
    pass


def _is_plain(path: str) -> bool:
    return stat.S_ISREG(os.stat(path).st_mode)


def _compiler_caches() -> list[str]:
    """Folders that compilers fill and share between processes, natively too; their content is never the user's."""
    home = os.path.expanduser("~")
    places = [os.environ.get(name) for name in ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "TORCH_EXTENSIONS_DIR")]
    places += [os.path.join(home, ".triton"), os.path.join(home, ".cache", "torch_extensions")]
    temporary = os.environ.get("TMPDIR", "/tmp")
    return [os.path.realpath(place) + "/" for place in places if place] + [f"{temporary}/torchinductor_"]
