"""Run the package with other versions of what it stands on, and keep a table of what was found.

    make compat                       every row of versions.csv
    make compat ROWS="2.6 newest"     some of them
    make compat TESTS=all             every test that needs no browser, instead of each row's own set

A row's environment is made by uv below build/compat and removed after. docs/compatibility.md
gets the row as soon as it is done. The index is asked for the newest torch first: where its minor
version is newer than the row "newest" that row is changed to it.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from typing import NamedTuple

ROOT = pathlib.Path(__file__).parents[2]
VERSIONS = pathlib.Path(__file__).with_name("versions.csv")
TABLE = ROOT / "docs/compatibility.md"
WHERE = ROOT / "build/compat"
FOR_TESTS = (
    *("pytest", "pytest-xdist", "networkx", "packaging", "scikit-learn", "tensorboardX"),
    *("expecttest", "setuptools"),
)
#: uv would take a build of before, where only setup.py and its like are as they were.
NO_OLD_BUILD = ("--refresh-package", "tb_gradgraph", "--reinstall-package", "tb_gradgraph")
PARTNERS = ("torch", "tensorboard", "protobuf", "numpy")
#: Sets of tests by name. None needs a browser or Node.
TESTS = {
    "few": (
        *(
            "tests/autograd/torch_internals/test_functions.py",
            "tests/autograd/forward/test_sources.py",
        ),
        *("tests/training/test_steps.py", "tests/training/test_scaler_found.py"),
        "tests/training/test_regions.py",
    ),
    "some": (
        "tests/autograd/torch_internals/test_engine.py",
        "tests/autograd/torch_internals/test_functions.py",
        *(
            "tests/autograd/torch_internals/test_private.py",
            "tests/autograd/forward/test_sources.py",
        ),
        *("tests/training/test_steps.py", "tests/training/test_scaler_found.py"),
        *("tests/training/test_regions.py", "tests/summarize/test_native.py"),
        "tests/record/test_round_trip.py",
    ),
    "most": ("tests/autograd", "tests/training", "tests/summarize", "tests/record", "tests/cases"),
    "all": ("tests", "--ignore=tests/browser", "--ignore=tests/demo/test_notebook.py"),
}
HEADER = ("row", "Python", *PARTNERS, "import, doctor", "README", "demo", "tests", "on")


class Row(NamedTuple):
    """One set of versions; ``more`` are extras, and ``tests`` the name of a set above."""

    name: str
    python: str
    torch: str
    tensorboard: str
    protobuf: str
    numpy: str
    more: str
    tests: str

    @property
    def torch_and_more(self) -> str:
        """What the table has in the column of torch."""
        return self.torch + (f" ({self.more})" if self.more else "")

    @property
    def requirements(self) -> list[str]:
        """What is installed beside the package; TensorBoard before 2.21 imports pkg_resources."""
        pinned = [f"{name}=={getattr(self, name)}" for name in PARTNERS]
        has_resources = ["setuptools<82"] if minor(self.tensorboard) < (2, 21) else []
        return [*pinned, *has_resources, *self.more.split()]


def main() -> int:
    """Run what the command line asks for; the number of rows in which something failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("rows", nargs="*", help="names of rows; all without")
    parser.add_argument("--tests", choices=TESTS, help="this set of tests in every row")
    parser.add_argument(
        "--keep", action="store_true", help="leave environments there, and use those left"
    )
    arguments = parser.parse_args()
    rows = with_newest_torch(read_rows())
    unknown = set(arguments.rows) - {row.name for row in rows}
    if unknown:
        parser.error(f"expected names of {VERSIONS.name}, got {', '.join(sorted(unknown))}")
    failed = 0
    for row in rows:
        if not arguments.rows or row.name in arguments.rows:
            found = run_row(row, arguments.tests or row.tests, arguments.keep)
            keep_result(row, found)
            failed += any(not text.startswith(("ok", "-")) for text in found)
            print(" | ".join((row.name, row.python, row.torch, *found)), flush=True)
    print(TABLE.read_text(encoding="utf-8"))
    return failed


def read_rows() -> list[Row]:
    """Read the sets of versions."""
    with VERSIONS.open(encoding="utf-8", newline="") as file:
        return [Row(**row) for row in csv.DictReader(file)]


def with_newest_torch(rows: Sequence[Row]) -> list[Row]:
    """Return the rows, the row "newest" with the newest torch of the index, and write that down."""
    asked = subprocess.run(
        [uv(), "pip", "compile", "--quiet", "--no-deps", "--no-header", "--no-annotate", "-"],
        input="torch",
        capture_output=True,
        text=True,
    )
    found = re.search(r"^torch==(\S+)", asked.stdout, re.MULTILINE)
    if not found:
        print(f"the index was not asked for the newest torch: {asked.stderr[-500:]}")
        return list(rows)
    newest = found[1]
    changed = [
        row._replace(torch=newest)
        if row.name == "newest" and minor(newest) > minor(row.torch)
        else row
        for row in rows
    ]
    if changed != list(rows):
        with VERSIONS.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerows([Row._fields, *changed])
    return changed


def minor(version: str) -> tuple[int, ...]:
    """Return the first two numbers of a version."""
    return tuple(int(number) for number in re.findall(r"\d+", version)[:2])


def run_row(row: Row, tests: str, keeps: bool) -> tuple[str, str, str, str]:
    """Return what import and doctor, README's programs, the demo and the tests came to."""
    folder = WHERE / row.name
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    WHERE.mkdir(parents=True, exist_ok=True)
    try:
        if not (keeps and python.exists()):
            shutil.rmtree(folder, ignore_errors=True)
            subprocess.run(
                [uv(), "venv", "--quiet", "--python", interpreter(row.python), folder], check=True
            )
        install = [uv(), "pip", "install", "--quiet", "--python", python, *NO_OLD_BUILD]
        # The package as users get it, built and not editable, with what it needs alone at first.
        subprocess.run([*install, *row.requirements, ROOT], check=True)
        used = (check_doctor(python), check_readme(python, row), check_demo(python, folder))
        subprocess.run([*install, *row.requirements, *FOR_TESTS], check=True)
        return (*used, run_tests(python, TESTS[tests], tests))
    except subprocess.CalledProcessError as error:
        return ("not installed: " + " ".join(map(str, error.cmd))[:60], "-", "-", "-")
    finally:
        if not keeps:
            shutil.rmtree(folder, ignore_errors=True)


def check_doctor(python: pathlib.Path) -> str:
    """Import everything, and have the doctor record a step."""
    finished = call([python, "-m", "tb_gradgraph", "doctor"])
    notes = [
        line for line in finished.stdout.splitlines() if re.match(r"(note|wrong) .*torch", line)
    ]
    if finished.returncode:
        return said("doctor", finished)
    return "ok" + (f", {len(notes)} of torch's parts missing" if notes else "")


def check_readme(python: pathlib.Path, row: Row) -> str:
    """Run the programs of the README whose libraries the row has."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    programs = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    extras = ("lightning", "transformers", "accelerate", "tensorboardX")
    missing = [name for name in extras if name not in row.more.split()]
    mine = [
        p for p in programs if not re.search(rf"^(import|from) ({'|'.join(missing)})\b", p, re.M)
    ]
    for program in mine:
        folder = WHERE / f"{row.name}-readme"
        folder.mkdir(parents=True, exist_ok=True)
        finished = subprocess.run(
            [python, "-c", program], cwd=folder, capture_output=True, text=True
        )
        shutil.rmtree(folder)
        if finished.returncode:
            return said("README", finished)
    return f"ok, {len(mine)} of {len(programs)} programs"


def check_demo(python: pathlib.Path, folder: pathlib.Path) -> str:
    """Run the demo as an installed package has it."""
    log = folder / "demo-log"
    finished = call([python, "-m", "tb_gradgraph", "demo", "--no-serve", "--logdir", log])
    return "ok" if finished.returncode == 0 else said("demo", finished)


def run_tests(python: pathlib.Path, tests: Sequence[str], name: str) -> str:
    """Run tests of the working tree; count them."""
    finished = subprocess.run(
        [python, "-m", "pytest", "-q", "-n", "2", "--dist", "loadfile", "-p", "no:cacheprovider"]
        + list(tests),
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    (WHERE / f"{python.parents[1].name}.log").write_text(finished.stdout, encoding="utf-8")
    counted = re.findall(r"(\d+) (passed|failed|skipped|errors?)", finished.stdout)
    counts = ", ".join(f"{number} {what}" for number, what in counted) or finished.stdout[-80:]
    return f"{'ok' if finished.returncode == 0 else 'FAILED'}, {name}: {counts}"


def call(command: Sequence[object]) -> subprocess.CompletedProcess[str]:
    """Run a command of the installed package away from the tree, whose folder has its name."""
    return subprocess.run(list(map(str, command)), cwd=WHERE, capture_output=True, text=True)


def said(what: str, finished: subprocess.CompletedProcess[str]) -> str:
    """Spell why something failed, for one cell of the table."""
    lines = (finished.stderr or finished.stdout).strip().splitlines()[-1:]
    return f"FAILED, {what}: " + " ".join(lines)[:120].replace("|", "/")


def keep_result(row: Row, found: Sequence[str]) -> None:
    """Put a row into the table of docs/compatibility.md, in the place of its last result."""
    before, results, after = read_table()
    partners = [getattr(row, name) for name in PARTNERS[1:]]
    versions = (row.name, row.python, row.torch_and_more, *partners)
    date = datetime.date.today().isoformat()
    results[row.name] = (*versions, *found, f"{date}, {platform.system()} {platform.machine()}")
    order = [known.name for known in read_rows()]
    lines = ["| " + " | ".join(results[name]) + " |" for name in order if name in results]
    head = ["| " + " | ".join(HEADER) + " |", "|" + " --- |" * len(HEADER)]
    TABLE.write_text("\n".join([*before, *head, *lines, *after]) + "\n", encoding="utf-8")


def read_table() -> tuple[list[str], dict[str, tuple[str, ...]], list[str]]:
    """Read docs/compatibility.md: what stands before the table, its rows by name, what follows."""
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    places = [place for place, line in enumerate(lines) if line.startswith("|")]
    first, last = (places[0], places[-1] + 1) if places else (len(lines), len(lines))
    rows = [
        tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines[first:last]
    ]
    return lines[:first], {cells[0]: cells for cells in rows[2:]}, lines[last:]


def interpreter(version: str) -> str:
    """Return pyenv's newest Python of a version, where it has one; else what uv is to look for."""
    found = pathlib.Path.home().glob(f".pyenv/versions/{version}.*/bin/python")
    return str(max(found, default=version, key=lambda path: minor(path.parts[-3])))


def uv() -> str:
    """Return where uv is: make compat installs it beside this Python."""
    found = shutil.which("uv", path=os.path.dirname(sys.executable)) or shutil.which("uv")
    if found is None:
        sys.exit(f"tests.compat.run: expected uv on the PATH. {sys.executable} -m pip install uv")
    return found


if __name__ == "__main__":
    sys.exit(main())
