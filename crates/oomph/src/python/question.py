"""Asked of the user's Python before a try: is everything there? Imports neither torch nor the script.

argv[1] is "script", "module" or "nothing", argv[2] its path or name. Prints one line of JSON.
"""

import json
import os
import re
import sys


def find_spec(name):
    """Asks every finder, editable installs' too, for a top-level name; imports nothing."""
    specs = (finder.find_spec(name, None) for finder in sys.meta_path)
    return next((spec for spec in specs if spec is not None), None)


def torch_facts():
    spec = find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = list(spec.submodule_search_locations)[0]
    site = os.path.dirname(folder)
    return {"folder": folder, "packages": packages(site), **version_file(folder)}


def version_file(folder):
    """torch/version.py is assignments of literals; reading them needs no import."""
    try:
        with open(os.path.join(folder, "version.py"), encoding="utf-8") as file:
            text = file.read()
    except OSError:
        return {}
    found = re.findall(r"^(__version__|cuda|hip)\b[^=\n]*=\s*(?:'([^']*)'|\"([^\"]*)\"|None)", text, re.M)
    return {name.strip("_"): single or double or None for name, single, double in found}


def packages(site):
    """Versions by distribution name, from the names of the .dist-info folders."""
    try:
        names = os.listdir(site)
    except OSError:
        return {}
    pairs = (name[: -len(".dist-info")].rsplit("-", 1) for name in names if name.endswith(".dist-info"))
    return {pair[0].lower().replace("_", "-"): pair[1] for pair in pairs if len(pair) == 2}


def script_problem(path):
    if not os.path.exists(path):
        return {"kind": "missing"}
    if os.path.isdir(path):
        return None
    try:
        with open(path, "rb") as file:
            source = file.read()
        if source.startswith(b"PK"):
            return None
        compile(source, path, "exec", dont_inherit=True)
    except SyntaxError as error:
        return {"kind": "syntax", "message": error.msg, "line": error.lineno or 0, "code": error.text}
    except ValueError as error:
        return {"kind": "syntax", "message": str(error), "line": 0, "code": None}
    return None


def module_problem(name):
    return None if find_spec(name.partition(".")[0]) else {"kind": "missing"}


def problem(kind, name):
    if kind == "script":
        return script_problem(name)
    return module_problem(name) if kind == "module" else None


if sys.argv[1] == "script":
    # Where Python will look first once it runs the script.
    sys.path[0] = os.path.dirname(os.path.realpath(sys.argv[2]))
print(
    json.dumps(
        {
            "executable": sys.executable,
            "version": ".".join(map(str, sys.version_info[:3])),
            "torch": torch_facts(),
            "problem": problem(sys.argv[1], sys.argv[2]),
        }
    )
)
