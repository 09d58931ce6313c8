"""Every example in README.md and docs/ runs, and prints what the page says it prints.

How a page is written:

* A block ```` ```python ```` is run, in a folder of its own that is empty at first; the blocks
  of a page share their names.  What it prints stands in the ```` ```text ```` block right below.
* ```` ```console ```` holds lines ``$ chainrule ...`` or ``$ python examples/...``, each
  followed by what it prints.
* ``...`` in an output stands for any text within a line, and on a line of its own for any
  number of lines: for seconds, say, and for digits that another machine may round otherwise.
  Uncertainties, ``+- 2e-13`` and ``to 12 digits``, need not be elided: any others will do.
* ```` ```python torch ```` and ```` ```python jax ```` run where that library is installed.
* ```` ```python no-run ```` is not run; an HTML comment in front of it says why.
* ```` ```python from src/chainrule/value.py ```` quotes that file, where ``...`` on a line of
  its own leaves lines out; remarks behind a line may be left out, too.
* A fence without a language is a drawing, and nobody checks it.
"""

import contextlib
import difflib
import importlib.util
import io
import os
import re
import shlex
import subprocess
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import pytest

import chainrule.ops
from chainrule.checking import check_gradients
from chainrule.cli import main
from chainrule.operation import ROWS

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TRAINING = {"from-neurons-to-matrices.md", "real-data.md"}  # pages that take seconds
PROSE = [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]

NOT_RUN = ("", "csv", "json", "latex", "markdown", "sh")
LIBRARIES = ("torch", "jax")


class PageError(AssertionError):
    """A page is not as it should be; the message names the line."""


# --- reading a page ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    line: int  # of the page, counted from 1
    language: str
    flags: tuple[str, ...]
    text: str
    lead: str  # the last line with anything on it, between the block before and this one


FENCE = re.compile(r"( *)```(.*)$")


def blocks_of(page):
    """The fenced blocks of a page, in order."""
    blocks, lead, start, inside = [], "", 0, None
    for number, line in enumerate(page.splitlines(), 1):
        fence = FENCE.match(line)
        if inside is None:
            if fence:
                start, info, inside = number, fence[2].split(), []
            elif line.strip():
                lead = line.strip()
        elif fence and not fence[2].strip():
            language, *flags = info or [""]
            text = dedent("\n".join(inside))
            blocks.append(Block(start, language, tuple(flags), text, lead))
            inside, lead = None, ""
        elif fence:
            break
        else:
            inside.append(line)
    if inside is not None:
        raise PageError(f"line {start}: the block is never closed")
    return blocks


def without_code(page):
    """A page without its fenced blocks."""
    return re.sub(r"^( *)```.*?^ *```$", "", page, flags=re.MULTILINE | re.DOTALL)


# --- comparing --------------------------------------------------------------------------------


# How far rounding leaves the last digit uncertain, in reports of check_gradients.
ROUNDING = re.compile(r"\+- \d[\d.e+-]* *|(?<=to )\d+(?= digits)")


def lines_of(text):
    return [line.rstrip() for line in text.strip("\n").splitlines()]


def matches(expected, actual):
    """Whether an output is the one on the page, whose ``...`` stands for anything."""
    pattern = ""
    expected, actual = ROUNDING.sub("~", expected), ROUNDING.sub("~", actual)
    for line in lines_of(expected):
        if line.strip() == "...":
            pattern += r"(?:[^\n]*\n)*?"
        else:
            pattern += r"[^\n]*".join(map(re.escape, line.split("..."))) + r"\n"
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in lines_of(actual))) is not None


def compare(line, expected, actual):
    """Raise if a block's output is not the one on the page."""
    if expected.strip() and not expected.replace("...", "").strip():
        raise PageError(f"line {line}: the output on the page is elided altogether")
    if not matches(expected, actual):
        sides = lines_of(expected), lines_of(actual)
        diff = difflib.unified_diff(*sides, "on the page", "printed", lineterm="", n=2)
        raise PageError(f"line {line}: the output differs\n" + "\n".join(diff))


# --- running ----------------------------------------------------------------------------------


def run_python(block, names):
    """What a block prints, a traceback included, as a terminal shows both."""
    out = io.StringIO()
    source = block.text + "\n"
    Path("example.py").write_text(source, encoding="utf-8")  # messages may quote a line of it
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            exec(compile(source, "example.py", "exec"), names)
        except Exception:
            out.write(traceback.format_exc())
    return out.getvalue()


def run_command(command, line):
    """What a command line prints."""
    words = shlex.split(command)
    out = io.StringIO()
    if words[0] == "chainrule":
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            main(words[1:])
    elif words[0] == "python" and words[1].startswith("examples/"):
        source = str(Path(chainrule.__file__).parents[1])
        place = os.environ | {"PYTHONPATH": source, "PYTHONIOENCODING": "utf-8"}
        found = subprocess.run(
            [sys.executable, str(ROOT / words[1]), *words[2:]],
            env=place,
            encoding="utf-8",
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        out.write(found.stdout)
    else:
        raise PageError(f"line {line}: a console block runs chainrule or an example: {command}")
    return out.getvalue()


def commands_of(block):
    """The command lines of a console block, each with its line and its output on the page."""
    found = []
    for i, line in enumerate(block.text.splitlines(), block.line + 1):
        if line.startswith("$ "):
            found.append((i, line[2:], []))
        elif not found:
            raise PageError(f"line {i}: a console block begins with a command, $ ...")
        else:
            found[-1][2].append(line)
    return [(i, command, "\n".join(output)) for i, command, output in found]


def check_quotation(block, file):
    """Raise if a quotation is not, line for line, in the file."""
    path = ROOT / file
    if not path.is_file():
        raise PageError(f"line {block.line}: there is no file {file}")
    pattern = ""
    for line in block.text.splitlines():
        if line.strip() == "...":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += rf"(?P=indent){re.escape(line)}(?:  # .*)?\n" if line.strip() else r"\s*\n"
    pattern = pattern.replace("(?P=indent)", "(?P<indent> *)", 1)
    if not re.search("^" + pattern, path.read_text(encoding="utf-8"), re.MULTILINE):
        raise PageError(f"line {block.line}: {file} has no such lines")


def run_page(page, library=""):
    """Run a page in the present folder.

    Args:
        page: its text.
        library: ``"torch"`` or ``"jax"``, to run the blocks for it too.
    """
    names = {"__name__": "__main__"}
    blocks = blocks_of(page)
    first = Block(0, "", (), "", "")
    last = Block(0, "", (), "", "the end")
    for before, block, after in zip([first, *blocks], blocks, [*blocks[1:], last], strict=False):
        has_output = after.language == "text" and not after.lead
        flag, *rest = block.flags or ("",)
        if block.language == "console":
            for line, command, expected in commands_of(block):
                compare(line, expected, run_command(command, line))
        elif block.language == "text":
            if before.language != "python" or block.lead:
                raise PageError(f"line {block.line}: no python block right above prints this")
        elif block.language != "python":
            if block.language not in NOT_RUN:
                raise PageError(f"line {block.line}: unknown language {block.language!r}")
        elif flag == "no-run":
            if not re.fullmatch(r"<!-- .{15,} -->", block.lead):
                raise PageError(f"line {block.line}: no comment in front says why it is not run")
        elif flag == "from":
            check_quotation(block, *rest)
        elif flag in ("", *LIBRARIES):
            if flag in ("", library):
                compare(block.line, after.text if has_output else "", run_python(block, names))
        else:
            raise PageError(f"line {block.line}: unknown mark {flag!r}")


def cases():
    for path in PAGES:
        marks = [pytest.mark.slow] if path.name in TRAINING else []
        yield pytest.param(path, "", id=path.name, marks=marks)
        page = path.read_text(encoding="utf-8")
        for library in LIBRARIES:
            if f"```python {library}" in page:
                mark = getattr(pytest.mark, library)
                yield pytest.param(path, library, id=f"{path.name} with {library}", marks=mark)


@pytest.mark.parametrize(("path", "library"), list(cases()))
def test_page_prints_what_it_says(path, library, tmp_path, monkeypatch):
    if library:
        pytest.importorskip(library)
    monkeypatch.chdir(tmp_path)
    run_page(path.read_text(encoding="utf-8"), library)


# --- links, files, commands ---------------------------------------------------------------------


def anchors_of(page):
    """The anchors that GitHub gives the headings of a page."""
    headings = re.findall(r"^#+ +(.+?)\s*$", without_code(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(page, path):
    """The links of a page that lead nowhere."""
    prose = re.sub(r"`[^`\n]*`", "code", without_code(page))
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if re.match(r"https?://|mailto:", target):
            continue
        file, _, anchor = target.partition("#")
        there = path.parent / file if file else path
        if not there.exists():
            yield target
        elif anchor:
            known = anchors_of(page if there == path else there.read_text(encoding="utf-8"))
            if anchor not in known:
                yield target


def missing_files(page):
    """The files of ours that a page names in its text, and that are not there."""
    for name in re.findall(r"`([\w./-]+\.(?:py|md|toml))`", without_code(page)):
        if not any((place / name).is_file() for place in (ROOT, ROOT / "src" / "chainrule")):
            yield name


@pytest.mark.parametrize("path", PROSE, ids=lambda path: path.name)
def test_page_names_what_is_there(path):
    page = path.read_text(encoding="utf-8")
    assert list(broken_links(page, path)) == []
    assert list(missing_files(page)) == []
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    assert set(re.findall(r"(?:`|^)make ([a-z-]+)", page, re.MULTILINE)) <= set(targets)


def test_speed_in_the_readme_is_that_of_the_benchmark():
    """Every figure in the tables stands in the runs that benchmarks/README.md shows."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    measured = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    row = r"^\| (XOR|circle|a word)[^|]*\|((?: [\d.,]+ µs \|)+)$"
    compiled = re.findall(row, readme, re.MULTILINE)
    assert [problem for problem, _ in compiled] == ["XOR", "circle", "a word"]
    for problem, cells in compiled:
        title = "scalar GPT," if problem == "a word" else f"{problem} "
        section = measured.partition(f"\n### {title}")[2].partition("\n### ")[0]
        for time in cells.split("|")[:-1]:
            assert f"| {time.strip().removesuffix(' µs')} |" in section, time
    rows = re.findall(r"^\| (.* 2-\d-1, \d+ rows) \|(.*)\|$", readme, re.MULTILINE)
    assert len(rows) == 2
    for problem, cells in rows:
        run = [line for line in measured.splitlines() if line.startswith(f"| {problem} ")]
        for time in cells.split("|"):
            assert any(f" {time.strip()} |" in line for line in run), time


def test_readme_leads_to_every_page():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for path in PAGES[1:]:
        assert f"](docs/{path.name})" in readme


def test_the_row_in_contributing_is_one():
    """Adding an operation is as easy as the page says."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (block,) = [block for block in blocks_of(page) if block.language == "python"]
    names = dict(vars(chainrule.ops))
    exec(compile(block.text, "contributing.py", "exec"), names)
    square = names["square"]
    try:
        assert square(3.0) == 9.0
        assert check_gradients(square, 3.0).inputs[0].verdict == "agrees"
        assert all(square(*point) == result for point, result in square.special)
    finally:
        del ROWS["square"]


def listed_differences():
    """What docs/conventions.md lists under "In measured numbers": expressions and points."""
    page = (ROOT / "docs" / "conventions.md").read_text(encoding="utf-8")
    _, _, table = page.partition("### In measured numbers\n")
    table, _, _ = table.partition("\n### ")
    for line in re.findall(r"^\| `.*", table, re.MULTILINE):
        expressions, points = [re.findall(r"`([^`]+)`", cell) for cell in line.split("|")[1:3]]
        for expression in expressions:
            for point in points:
                given = dict(part.split(" = ") for part in point.split(", "))
                yield expression, {name: float(x) for name, x in given.items()}


def test_every_measured_difference_from_pytorch_is_on_the_page():
    place = Path(__file__).with_name("test_conventions.py")
    spec = importlib.util.spec_from_file_location("conventions_of_the_tests", place)
    conventions = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(conventions)
    listed = [conventions.key(*difference) for difference in listed_differences()]
    assert sorted(listed) == sorted(conventions.DIFFERENT)


# --- the checker, checked -----------------------------------------------------------------------


GOOD = """\
# A page
~~~python
x = 2
print(x, 3.14159)
~~~

~~~text
2 3.14...
~~~
Names last from block to block.
~~~python
for i in range(x + 2): print(i)
open('note.txt', 'w').close()
~~~
~~~text
0
...
3
~~~
~~~python
1 / 0
~~~
~~~text
Traceback (most recent call last):
  ...
ZeroDivisionError: division by zero
~~~
~~~console
$ chainrule --version
chainrule, version ...
$ chainrule trian
Error: there is no command 'trian'; did you mean train? See chainrule --help.
~~~
~~~python torch
raise SystemExit('not installed')
~~~
<!-- Not run: it would take all night. -->
~~~python no-run
while True: pass
~~~
~~~python from src/chainrule/value.py
def __add__(self, other: Any) -> Any:
    if isinstance(other, Value):
        ...
        return unknown(other, "+")
    return _node(self._data + y, "+", self, 1.0, None, y)

def __radd__(self, other: Any) -> Any:
~~~
""".replace("~~~", "```")


def test_good_page_passes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_page(GOOD)
    assert (tmp_path / "note.txt").exists()


@pytest.mark.parametrize(
    ("right", "wrong", "complaint"),
    [
        ("2 3.14...", "2 3.15...", r"line 2: the output differs[\s\S]*-2 3.15[\s\S]*\+2 3.14159"),
        ("2 3.14...", "2 3.14", "line 2: the output differs"),
        ("2 3.14...", "2 3.14...\nmore", "line 2: the output differs"),
        ("2 3.14...", "...", "line 2: the output on the page is elided altogether"),
        ("0\n...\n3\n", "0\n...\n2\n", "line 11: the output differs"),
        ("by zero", "by nothing", "line 20: the output differs"),
        ("```text\n2 3.14...\n```\n", "", "line 2: the output differs"),
        ("```\n\n```text\n2", "```\nIt prints:\n\n```text\n2", "line 2: the output differs"),
        ("# A page", "# A page\n```text\nout of the blue\n```", "line 2: no python block"),
        ("chainrule, version", "chainrule, edition", "line 29: the output differs"),
        ("did you mean train", "did you mean predict", "line 31: the output differs"),
        ("$ chainrule --version", "$ rm -r /", "line 29: a console block runs chainrule"),
        ("$ chainrule --version", "chainrule --version", "line 29: a console block begins with"),
        ("python torch", "python troch", "line 34: unknown mark 'troch'"),
        ("```python\nx = 2", "```pyhton\nx = 2", "line 2: unknown language 'pyhton'"),
        ("<!-- Not run: it would take all night. -->", "", "line 38: no comment in front"),
        ("python no-run\nwhile True: pass\n```", "python no-run", "line 38: the block is never"),
        ("if isinstance(other, Value)", "if type(other) is Value", "line 41: src.* no such lines"),
        ("from src/chainrule/value.py", "from src/values.py", "line 41: there is no file"),
    ],
)
def test_wrong_page_fails(right, wrong, complaint, tmp_path, monkeypatch):
    assert right in GOOD
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PageError, match=complaint):
        run_page(GOOD.replace(right, wrong, 1))


def test_blocks_for_a_library_are_run_with_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match="not installed"):
        run_page(GOOD, "torch")


def test_broken_links_and_missing_files_are_found():
    path = ROOT / "README.md"
    page = """\
# One, two: `three`!
[here](#one-two-three) [there](CHANGELOG.md#changelog) [web](https://example.org/x)
[not here](#four) [not there](CHANGELOG.md#four) [nowhere](docs/nothing.md)
`value.py` `nn/layers.py` `pyproject.toml` `nothing.py`, and `[code](is/no/link)`
```text
[nor](is/this) `nothing/either.py`
```
"""
    assert list(broken_links(page, path)) == ["#four", "CHANGELOG.md#four", "docs/nothing.md"]
    assert list(missing_files(page)) == ["nothing.py"]
