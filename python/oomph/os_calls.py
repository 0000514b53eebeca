"""The calls of `os` that make, change, delete or look up names, passed through the overlay (see files.py)."""

from __future__ import annotations

import functools
import os

from oomph.overlay import Overlay
from oomph.paths import inside, is_inside, key, of_descriptor

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_NAMELESS = getattr(os, "O_TMPFILE", 0)


def install(overlay: Overlay) -> None:
    looking, changing = _Looking(overlay), _Changing(overlay)
    for name in ("stat", "lstat", "access", "listdir", "scandir", "chdir"):
        _patch(name, getattr(looking, name), lambda: overlay.is_altered, _answer_yourself)
    for name, ours in changing.table().items():
        _patch(name, ours, lambda: True, _refuse)


def _answer_yourself(error: Exception) -> None:
    """Looking is harmless."""


def _refuse(error: Exception) -> None:
    """What is no path at all gets Python's own complaint; a mistake of ours must not cost the user a file."""
    if not isinstance(error, (TypeError, ValueError)):
        raise PermissionError(13, f"oomph could not keep the user's files safe here: {error!r}") from error


def _patch(name: str, ours, is_needed, on_mistake) -> None:
    original = getattr(os, name, None)
    if original is None:
        return

    @functools.wraps(original)
    def call(*args, **kwargs):
        if is_inside() or not is_needed():
            return original(*args, **kwargs)
        with inside():
            try:
                return ours(original, *args, **kwargs)
            except OSError:
                raise
            except Exception as error:
                on_mistake(error)
        return original(*args, **kwargs)

    call.__module__ = "os"
    setattr(os, name, call)
    # shutil and pathlib ask what a function can do by looking for it in these sets.
    for able in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks, os.supports_effective_ids):
        if original in able:
            able.add(call)


class _Looking:
    """Only reached when something is other than on the disk."""

    def __init__(self, overlay: Overlay) -> None:
        self.overlay = overlay

    def stat(self, original, path, *, dir_fd=None, follow_symlinks=True):
        name = key(path, dir_fd, follow_symlinks)
        place = name if name is None else self.overlay.read(name)
        if place == name:
            return original(path, dir_fd=dir_fd, follow_symlinks=follow_symlinks)
        return original(place, follow_symlinks=follow_symlinks)

    def lstat(self, original, path, *, dir_fd=None):
        name = key(path, dir_fd, follow=False)
        place = name if name is None else self.overlay.read(name)
        return original(path, dir_fd=dir_fd) if place == name else original(place)

    def access(self, original, path, mode, **kwargs):
        name = key(path, kwargs.get("dir_fd"))
        if name is None or name not in self.overlay.copies:
            visible = name is None or self.overlay.is_visible(name)
            return visible and original(path, mode, **kwargs)
        return original(self.overlay.copies[name], mode)

    def chdir(self, original, path):
        name = key(path)
        place = name if name is None else self.overlay.read(name)
        return original(path if place == name else place)

    def listdir(self, original, path="."):
        name = self._folder(path)
        found = [os.fsdecode(entry) for entry in original(self._place(name, path))]
        names = self.overlay.names(name, found)
        return [os.fsencode(entry) for entry in names] if isinstance(path, bytes) else names

    def scandir(self, original, path="."):
        name = self._folder(path)
        found = {entry.name: entry for entry in original(self._place(name, path))}
        own = self.overlay.copies.get(name)
        if own is not None:
            found = {**{entry.name: entry for entry in original(own)}, **found}
        names = self.overlay.names(name, [os.fsdecode(entry) for entry in found])
        return _Entries([found[entry] for entry in names if entry in found])

    def _folder(self, path) -> str:
        return key(of_descriptor(path) if isinstance(path, int) else "." if path is None else path)

    def _place(self, name: str, path):
        """A folder that is on the disk is listed there, and what the overlay adds is added."""
        self.overlay.read(name)
        return path if isinstance(path, int) or os.path.isdir(name) else self.overlay.read(name)


class _Entries:
    """What `os.scandir` returns: an iterator that can be closed."""

    def __init__(self, entries) -> None:
        self._entries = iter(entries)

    def __iter__(self):
        return self

    def __next__(self):
        return next(self._entries)

    def close(self) -> None:
        self._entries = iter(())

    def __enter__(self):
        return self

    def __exit__(self, *_) -> None:
        self.close()


class _Changing:
    def __init__(self, overlay: Overlay) -> None:
        self.overlay = overlay

    def table(self) -> dict:
        own = {name: getattr(self, name) for name in ("open", "rename", "link", "symlink", "truncate")}
        named = {"mkdir": "mkdir", "remove": "remove", "unlink": "remove", "rmdir": "rmdir"}
        calls = {name: functools.partial(self._named, getattr(self.overlay, call)) for name, call in named.items()}
        nodes = dict.fromkeys(("mkfifo", "mknod"), self._node)
        attributes = ("chmod", "chown", "lchown", "utime", "setxattr", "removexattr")
        return {**own, "replace": self.rename, **calls, **nodes, **dict.fromkeys(attributes, self._attribute)}

    def open(self, original, path, flags, mode=0o777, *, dir_fd=None):
        looks = not flags & _WRITES or (_NAMELESS and flags & _NAMELESS == _NAMELESS)
        if looks and not self.overlay.is_altered:
            return original(path, flags, mode, dir_fd=dir_fd)
        name = key(path, dir_fd)
        place = name if name is None else self._place(name, flags, looks)
        if place not in (name, None):
            return original(place, flags & ~os.O_EXCL, mode)
        opened = original(path, flags, mode, dir_fd=dir_fd)
        if place is None and name is not None:
            self.overlay.record(name)
        return opened

    def _place(self, name: str, flags: int, looks: bool) -> str | None:
        if looks or not flags & os.O_CREAT:
            there = self.overlay.read(name)
            if looks or not os.path.lexists(there):
                return there
        makes_new = flags & os.O_CREAT and flags & os.O_EXCL
        return self.overlay.write(name, keep=not flags & os.O_TRUNC, exclusive=bool(makes_new))

    def _named(self, ours, original, path, *args, dir_fd=None, **kwargs):
        """A call about a name itself: if its last part is a link, the link is meant."""
        name = key(path, dir_fd, follow=False)
        return original(path, *args, dir_fd=dir_fd, **kwargs) if name is None else ours(name, *args, **kwargs)

    def rename(self, original, src, dst, *, src_dir_fd=None, dst_dir_fd=None):
        source, target = key(src, src_dir_fd, follow=False), key(dst, dst_dir_fd, follow=False)
        if source is None or target is None:
            return original(src, dst, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
        return self.overlay.rename(source, target)

    def link(self, original, src, dst, **kwargs):
        source, target = key(src, kwargs.get("src_dir_fd")), key(dst, kwargs.get("dst_dir_fd"), follow=False)
        return original(src, dst, **kwargs) if source is None or target is None else self.overlay.link(source, target)

    def symlink(self, original, src, dst, target_is_directory=False, *, dir_fd=None):
        target = key(dst, dir_fd, follow=False)
        return original(src, dst, dir_fd=dir_fd) if target is None else self.overlay.symlink(os.fsdecode(src), target)

    def truncate(self, original, path, length):
        name = key(path)
        visible = name is not None and self.overlay.is_visible(name)
        return original(self.overlay.write(name) or path if visible else path, length)

    def _node(self, original, path, *args, **kwargs):
        made = original(path, *args, **kwargs)
        self.overlay.record(key(path, kwargs.get("dir_fd"), follow=False))
        return made

    def _attribute(self, original, path, *args, **kwargs):
        """Modes, times and owners of the user's files stay; the try's own files and copies take them."""
        name = key(path, kwargs.get("dir_fd"))
        if name is None or self.overlay.is_left_alone(name) or self.overlay.is_ours(name):
            return original(path, *args, **kwargs)
        if name in self.overlay.copies:
            return original(self.overlay.copies[name], *args, **{k: v for k, v in kwargs.items() if k != "dir_fd"})
        return None if self.overlay.is_visible(name) else original(path, *args, **kwargs)
