"""The step-through page: its data, its safety, and what a real browser makes of it."""

import json
import re
import runpy
import shutil
import sys
from pathlib import Path

import pytest

from chainrule import MissingExtraError, Value, explain, no_grad, step_through, topological_order
from chainrule.cli import main
from chainrule.errors import GraphError, OptionError
from chainrule.views.stepping import MOST_PATHS

ROOT = Path(__file__).parents[1]
HOSTILE = '</script><img src=x onerror="document.title=1">{graph}'


def small():
    a, b = Value(2.0, label="a"), Value(-3.0, label="b")
    y = (a * b + a).tanh() * a
    y.label = "y"
    return y


def data_in(html):
    found = re.search(r'<script type="application/json" id="chainrule-data">(.*?)</script>', html)
    return json.loads(found[1])


# --- the page as text -------------------------------------------------------------------------


def test_the_data_are_those_of_the_explanation():
    y = small()
    parts = {x["label"]: x for x in step_through(y).data["parts"]}
    for part in explain(y).derivation.parts:
        shown = parts[part.name]
        assert (shown["value"], shown["gradient"]) == (part.value, part.gradient)
        assert [x["product"] for x in shown["edges"]] == [x.product for x in part.edges]
    assert [x.grad for x in topological_order(y)] == [0.0] * 6  # nobody's grad was touched


def test_the_page_loads_nothing_and_runs_only_its_own_script():
    html = step_through(small()).html
    assert not re.search(r'(?:src|href)="(?!data:,")', html)
    assert not re.search(r"@import|url\(|fetch\(|XMLHttpRequest|eval\(|new Function", html)
    namespaces = {"http://www.w3.org/2000/svg", "http://www.w3.org/1998/Math/MathML"}
    assert set(re.findall(r"https?://[^\"\\ ]+", html)) == namespaces
    assert "default-src 'none'" in html


def test_labels_are_text():
    y = Value(1.0, label=HOSTILE) * 2.0
    html = step_through(y, title=HOSTILE).html
    assert "<img" not in html
    assert html.count("</script>") == 2
    assert data_in(html)["parts"][0]["label"] == HOSTILE
    assert html.count("<svg") == 1


def test_numbers_that_are_not_finite_are_in_the_data():
    data = data_in(step_through(Value(0.0, label="x").log()).html)
    assert [x["value"] for x in data["parts"]] == [0.0, "-Infinity"]
    assert data["parts"][0]["gradient"] == "Infinity"


def test_values_with_the_same_label_are_told_apart():
    y = Value(1.0, label="x") * Value(2.0, label="x")
    assert [x["label"] for x in step_through(y).data["parts"]] == ["x", "x_2", "y"]


def test_a_large_graph_is_cut_down_and_the_page_says_so():
    x = Value(0.5, label="x")
    y = x
    for _ in range(200):
        y = y * 0.9 + x
    steps = step_through(y, limit=30)
    assert len(steps.data["parts"]) <= 30
    assert "of them are left out: those with the weaker gradients." in steps.html


def test_it_writes_a_file_and_describes_itself(tmp_path):
    steps = step_through(small(), tmp_path / "out.html")
    assert (tmp_path / "out.html").read_text("utf-8") == steps.html
    assert repr(steps) == "<step-through of y: 4 steps forward, 4 steps back>"


@pytest.mark.parametrize(
    ("wrong", "error", "said"),
    [
        ({"path": "out.svg"}, OptionError, "must end in .html; got 'out.svg'"),
        ({"path": 7}, OptionError, "path must be a file name such as 'steps.html'; got 7"),
        ({"limit": 1}, OptionError, "limit must be a whole number of at least 2"),
        ({"title": 7}, OptionError, "title must be a text; got 7"),
        ({"value": 7.0}, GraphError, "takes the Value"),
    ],
)
def test_wrong_arguments_are_refused(wrong, error, said):
    with pytest.raises(error, match=re.escape(said)):
        step_through(**{"value": small(), **wrong})


def test_a_value_without_a_graph_is_refused():
    with no_grad():
        y = small()
    with pytest.raises(GraphError, match="no_grad"):
        step_through(y)


def test_missing_libraries_name_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "latex2mathml.converter", None)
    with pytest.raises(MissingExtraError, match=r"latex2mathml.*chainrule\[draw\]"):
        _ = step_through(small()).html
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(MissingExtraError, match=r"anywidget.*chainrule\[notebook\]"):
        step_through(small()).widget()


def test_the_command_writes_the_page(tmp_path, capsys):
    file = tmp_path / "steps.html"
    formula = ["explain", "tanh(w*x + b)", "w=0.5", "x=2", "b=-1"]
    assert main([*formula, "--html", str(file)]) == 0
    assert "open it in a browser" in capsys.readouterr().out
    assert {x["label"] for x in data_in(file.read_text("utf-8"))["parts"]} >= {"w", "x", "b"}
    assert main([*formula, "--html", str(file), "--wrt", "w"]) == 1
    assert "leave out --wrt" in capsys.readouterr().err
    assert main([*formula, "--html", str(tmp_path / "steps.pdf")]) == 1
    assert "must end in .html" in capsys.readouterr().err


def test_the_widget_is_the_same_component():
    pytest.importorskip("anywidget")
    steps = step_through(small())
    widget = steps.widget()
    assert widget.markup == steps.markup
    assert widget.steps["parts"] == steps.data["parts"]
    assert "export default" in widget._esm
    assert "application/vnd.jupyter.widget-view+json" in steps._repr_mimebundle_()[0]


# --- in a browser -----------------------------------------------------------------------------


FLAGS = [
    "headless",
    "no-sandbox",
    "hide-scrollbars",
    "disable-gpu",
    "disable-quic",
    "no-first-run",
    "disable-background-networking",
    "disable-component-update",
    "disable-sync",
]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    program = shutil.which("chromium") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip("no chromium and chromedriver on this machine")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in FLAGS:
        options.add_argument(f"--{flag}")
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('profile')}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(driver)
    chrome = webdriver.Chrome(options=options, service=service)
    yield chrome
    chrome.quit()


class Page:
    """A step-through in the browser, with the numbers it ought to show."""

    def __init__(self, browser, file, value, **options):
        self.browser = browser
        self.steps = step_through(value, file, **options)
        self.parts = self.steps.data["parts"]
        browser.get(file.as_uri())

    def js(self, script, *arguments):
        return self.browser.execute_script(script, *arguments)

    def key(self, name, times=1):
        from selenium.webdriver.common.by import By
        from selenium.webdriver.common.keys import Keys

        keys = getattr(Keys, name)
        self.browser.find_element(By.TAG_NAME, "body").send_keys(keys * times)

    def click(self, selector):
        from selenium.webdriver.common.by import By

        self.browser.find_element(By.CSS_SELECTOR, selector).click()

    def box(self, label):
        return next(i for i, x in enumerate(self.parts) if x["label"] == label)

    def text(self, selector):
        return self.js("return document.querySelector(arguments[0]).textContent", selector)

    @property
    def at(self):
        return int(self.js("return document.querySelector('.chainrule-steps').dataset.step"))

    @property
    def last(self):
        return int(self.js("return Number(document.querySelector('.range').max)"))

    def shown(self, what):
        """The exact numbers behind those in the boxes."""
        script = (
            "return [...document.querySelectorAll('[data-box]')].map(x => x.dataset[arguments[0]])"
        )
        return [None if x == "" else float(x) for x in self.js(script, what)]


@pytest.fixture
def open_page(browser, tmp_path):
    def opened(value, **options):
        return Page(browser, tmp_path / "page.html", value, **options)

    yield opened
    assert browser.get_log("browser") == []  # no error, no warning


def xor_loss():
    return runpy.run_path(str(ROOT / "examples" / "step_through_xor.py"))["xor_loss"]()


@pytest.mark.browser
def test_the_numbers_are_those_of_the_engine(open_page):
    loss = xor_loss()
    page = open_page(loss)
    given = [x["value"] if not x["opened"] else None for x in page.parts]
    assert page.shown("value") == given
    assert page.shown("grad") == [None] * len(given)
    page.key("END")
    loss.backward()
    engine = {x.label: x for x in topological_order(loss) if x.label}
    for part, value, grad in zip(page.parts, page.shown("value"), page.shown("grad"), strict=True):
        assert (value, grad) == (part["value"], part["gradient"])
        if part["label"] in engine:
            assert value == engine[part["label"]].data
            assert grad == pytest.approx(engine[part["label"]].grad, rel=1e-14, abs=1e-300)
    assert {"w11", "b2", "h1", "p", "loss"} <= set(engine)


@pytest.mark.browser
def test_stepping_forwards_and_back_undoes_itself(open_page):
    page = open_page(small())
    seen = []
    for step in range(page.last + 1):
        assert page.at == step
        seen.append((page.shown("value"), page.shown("grad"), page.text(".now")))
        page.key("ARROW_RIGHT")
    assert page.at == page.last  # there is nothing behind it
    for step in reversed(range(page.last + 1)):
        assert (page.shown("value"), page.shown("grad"), page.text(".now")) == seen[step]
        page.key("ARROW_LEFT")
    assert page.at == 0
    forward = [sum(x is not None for x in values) for values, _, _ in seen]
    assert forward == sorted(forward)
    assert forward[0] == 2


@pytest.mark.browser
def test_buttons_slider_and_keys_do_the_same(open_page):
    page = open_page(small())
    page.click(".next")
    page.click(".next")
    assert page.at == 2
    page.click(".previous")
    assert page.at == 1
    page.click(".last")
    assert page.at == page.last
    assert page.js("return document.querySelector('.next').disabled")
    page.click(".first")
    assert page.at == 0
    page.key("END")
    assert page.at == page.last
    page.key("HOME")
    assert page.at == 0
    page.js(
        "const x = document.querySelector('.range'); x.value = 3;"
        "x.dispatchEvent(new Event('input', { bubbles: true }))"
    )
    assert page.at == 3


@pytest.mark.browser
def test_space_plays_and_pauses(open_page):
    page = open_page(small())
    page.key("SPACE")
    assert "Pause" in page.text(".play")
    page.key("SPACE")
    assert "Play" in page.text(".play")
    page.js("document.activeElement.blur()")
    page.key("END")
    page.key("SPACE")
    assert page.at == 0  # from the end it starts again
    assert "Pause" in page.text(".play")
    page.key("SPACE")


@pytest.mark.browser
def test_a_step_shows_rule_formula_and_products(open_page):
    page = open_page(small())
    page.key("END")
    page.key("ARROW_LEFT")
    shown = page.text(".now")  # the product a * b, the last that passes a gradient on
    product = next(x for x in page.parts if x["op"] == "*" and x["label"] != "y")
    assert "Each factor gets the gradient times the other factor." in shown
    assert f"{product['label']} passes its gradient on" in shown
    assert page.js("return document.querySelectorAll('.now math').length") >= 2
    assert r"\frac{\partial" in shown
    cells = page.js(
        "return [...document.querySelectorAll('.now tbody tr')]"
        ".map(r => [...r.cells].map(c => c.textContent))"
    )
    for (_, upstream, local, contribution), edge in zip(cells, product["edges"], strict=True):
        numbers = [number(x) for x in (upstream, local, contribution)]
        exact = product["gradient"], edge["local"], edge["product"]
        assert numbers == pytest.approx(exact, rel=1e-5)
    # a has three uses, and this was the last
    assert re.search(r"Running sum of a.* from y \+ .* from .* = ", shown)
    assert page.shown("grad")[page.box("a")] == page.parts[page.box("a")]["gradient"]


def number(text):
    return float(text.strip("×= ()").replace("−", "-").strip("()"))


@pytest.mark.browser
def test_the_running_sum_grows_with_each_use(open_page):
    page = open_page(small())
    a = page.box("a")
    page.key("END")
    sums = []
    while page.shown("grad")[a] is not None:
        sums.append(page.shown("grad")[a])
        page.key("ARROW_LEFT")
    contributions = [
        edge["product"]
        for part in reversed(page.parts)
        for edge in part["edges"]
        if edge["operand"] == a
    ]
    expected, total = [], 0.0
    for x in contributions:
        total += x
        expected.append(total)
    assert len(contributions) == 3
    assert list(dict.fromkeys(reversed(sums))) == pytest.approx(expected, rel=1e-14)


@pytest.mark.browser
def test_a_click_shows_all_paths_and_they_add_up(open_page):
    page = open_page(xor_loss())
    for label in ("x1", "x2", "w11", "h1", "c"):
        page.click(f'[data-box="{page.box(label)}"]')
        total = page.js(
            "const x = document.querySelector('.paths .sum').dataset; return [x.sum, x.grad]"
        )
        assert float(total[0]) == pytest.approx(float(total[1]), rel=1e-12, abs=1e-300)
        assert float(total[1]) == page.parts[page.box(label)]["gradient"]
        rows = page.js("return document.querySelectorAll('.paths tbody tr').length")
        assert rows == {"x1": 2, "x2": 2}.get(label, 1) + 1
    page.key("ESCAPE")
    assert "Choose a box" in page.text(".paths")


@pytest.mark.browser
def test_the_keyboard_alone_reaches_the_paths(open_page):
    page = open_page(small())
    box = page.box("a")
    page.js(f"document.querySelector('[data-box=\"{box}\"]').focus()")
    from selenium.webdriver.common.keys import Keys

    page.browser.switch_to.active_element.send_keys(Keys.ENTER)
    assert "Paths from y to a" in page.text(".paths")
    assert page.at == 0
    page.browser.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    assert page.at == 1
    names = page.js(
        "return [...document.querySelectorAll('button, input, [role]')]"
        ".map(x => x.getAttribute('aria-label') || x.textContent)"
    )
    assert all(name.strip() for name in names)


@pytest.mark.browser
def test_too_many_paths_are_counted_not_listed(open_page):
    x = Value(1.0, label="x")
    y = x
    for _ in range(12):
        y = y + y
    page = open_page(y)
    page.click(f'[data-box="{page.box("x")}"]')
    shown = page.text(".paths")
    assert "4,096 paths" in shown
    assert f"The first {MOST_PATHS} are shown" in shown
    assert "give its gradient: 4096" in shown


@pytest.mark.browser
def test_a_hostile_label_stays_text(open_page):
    y = Value(1.0, label=HOSTILE) * Value(2.0, label="<b>bold</b>")
    page = open_page(y, title=HOSTILE)
    title = page.browser.title
    for _ in range(page.last + 1):
        page.key("ARROW_RIGHT")
    page.click('[data-box="0"]')
    assert page.js("return document.querySelectorAll('img, b').length") == 0
    assert page.browser.title == title == HOSTILE
    assert HOSTILE in page.text(".paths")


@pytest.mark.browser
@pytest.mark.parametrize("width", [400, 1200])
def test_the_page_never_scrolls_sideways(open_page, browser, width):
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        page = open_page(xor_loss())
        page.click(f'[data-box="{page.box("x1")}"]')
        for _ in range(page.last + 1):
            assert page.js("return document.documentElement.scrollWidth") <= width
            current = page.js(
                "const c = document.querySelector('.box.current'); if (!c) return null;"
                "const v = document.querySelector('.view').getBoundingClientRect();"
                "const b = c.getBoundingClientRect(); return [b.left - v.left, v.right - b.right]"
            )
            assert current is None or min(current) >= -1  # the present box is in sight
            page.key("ARROW_RIGHT")
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.browser
def test_infinite_numbers_and_branches_not_taken(open_page):
    from chainrule import where

    x = Value(0.0, label="x")
    page = open_page(where(1.0, x.sqrt(), Value(3.0, label="other")))
    page.key("END")
    assert page.shown("grad")[page.box("x")] == float("inf")
    page.click(f'[data-box="{page.box("other")}"]')
    assert "No gradient comes here" in page.text(".paths")


@pytest.mark.browser
def test_the_widget_runs_in_a_browser(open_page, tmp_path):
    pytest.importorskip("anywidget")
    page = open_page(small())
    widget = page.steps.widget()
    module = widget._esm.replace("export default", "window.widget =")
    model = {"markup": widget.markup, "steps": widget.steps}
    page.js("document.body.innerHTML = '<div id=cell></div>'")
    page.browser.execute_cdp_cmd("Runtime.evaluate", {"expression": f"{module}"})
    page.js(
        "const model = arguments[0]; window.close_ = window.widget.render("
        "{ model: { get: (name) => model[name] }, el: document.getElementById('cell') })",
        model,
    )
    page.js("document.querySelector('#cell .last').click()")
    assert page.at == page.last
    assert page.shown("grad") == [x["gradient"] for x in page.parts]
    page.js("window.close_()")
