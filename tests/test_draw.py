"""Pictures of graphs and networks: what they show, what they fold, and how they refuse."""

import re
import sys
import time
import xml.etree.ElementTree as ET

import pytest

import chainrule
from chainrule import MissingExtraError, Network, Value, draw, mse_loss, no_grad
from chainrule.errors import GraphError, OptionError
from chainrule.views.folding import groups_of
from chainrule.views.layout import lay_out
from chainrule.views.svg import DARK, LIGHT

HOSTILE = "</script><img src=x onerror=alert(1)>\"'&]]> --> #quot; \\n"


def small():
    a, b = Value(2.0, label="a"), Value(-3.0, label="b")
    return a * b + a


def network_loss(rows=1, sizes=(2, 4, 1)):
    net = Network(list(sizes), activation="tanh", output_activation="sigmoid", seed=3)
    total = Value(0.0)
    for i in range(rows):
        total = total + mse_loss(net([i / rows, 1.0 - i / rows]), float(i % 2))
    return net, total


def rows_of(drawing):
    return {box.title[0]: dict(box.rows) for box in drawing.scene.boxes}


def words(drawing):
    return " / ".join(drawing.scene.caption)


def texts_in(svg):
    return [x.text for x in ET.fromstring(svg).iter() if x.tag.endswith("}text")]


# --- what is shown ----------------------------------------------------------------------------


def test_each_box_shows_label_operation_data_and_gradient():
    y = small()
    y.backward()
    drawing = draw(y)
    assert rows_of(drawing) == {
        "a": {"data": "2", "grad": "−2"},
        "b": {"data": "−3", "grad": "2"},
        "*": {"data": "−6", "grad": "1"},
        "+": {"data": "−4", "grad": "1"},
    }
    shown = texts_in(drawing.svg)
    for text in ("a", "b", "*", "+", "data", "grad", "−6", "−4", "−2"):
        assert text in shown


def test_before_backward_no_gradient_is_called_0():
    drawing = draw(small())
    assert {x["grad"] for x in rows_of(drawing).values()} == {"not yet"}
    assert "backward() has not run" in words(drawing)
    for text in (drawing.svg, drawing.dot, drawing.mermaid):
        assert "not yet" in text
        assert "backward() has not run" in text or "backward#40;" in text


def test_a_gradient_that_is_0_after_backward_is_shown_as_0():
    x = Value(-1.0, label="x")
    y = x.relu()
    y.backward()
    assert rows_of(draw(y))["x"]["grad"] == "0"


def test_what_leaves_hold_from_an_earlier_pass_is_told_apart():
    x = Value(3.0, label="x")
    (x * x).backward()
    drawing = draw(x * 2.0)
    assert rows_of(drawing)["x"]["grad"] == "6 (earlier)"
    assert "earlier pass" in words(drawing)


def test_gradients_that_belong_to_another_result_are_called_so():
    x = Value(3.0, label="x")
    y = x * x
    (y * 5.0).backward()
    assert "belongs to a pass from another value" in words(draw(y))


def test_arrows_show_the_local_derivative_and_what_flowed():
    y = small()
    texts = {(x.source, x.target): x.texts for x in draw(y, edges=True).scene.links}
    assert texts[0, 2] == ("× −3",)
    y.backward()
    texts = {(x.source, x.target): x.texts for x in draw(y, edges=True).scene.links}
    assert texts == {
        (0, 2): ("× −3", "← −3"),
        (1, 2): ("× 2", "← 2"),
        (2, 3): ("× 1", "← 1"),
        (0, 3): ("× 1", "← 1"),
    }


def test_a_value_used_twice_by_one_operation_has_both_on_its_arrow():
    x = Value(3.0)
    y = x * x
    y.backward()
    (link,) = draw(y, edges=True).scene.links
    assert link.texts == ("× 3", "← 3", "× 3", "← 3")


def test_a_branch_not_taken_and_a_rule_of_ones_own_are_called_so():
    a, b = Value(1.0, label="a"), Value(2.0, label="b")
    taken = draw(chainrule.where(1.0, a, b), edges=True)
    assert [x.texts for x in taken.scene.links] == [("× 1",), ("no gradient",)]
    own = Value(a.data + 1.0, (a,), "plus one")
    own._backward = lambda: None
    assert draw(own, edges=True).scene.links[0].texts == ("own rule",)


def test_plain_numbers_stand_with_the_operation():
    x = Value(3.0)
    assert draw(1.0 - x).scene.boxes[-1].title == ("1 -",)
    assert draw(x**2).scene.boxes[-1].title == ("** 2",)


def test_numbers_that_are_not_finite_can_be_drawn():
    y = Value(0.0, label="x").log()
    y.backward()
    assert rows_of(draw(y)) == {
        "x": {"data": "0", "grad": "inf"},
        "log": {"data": "−inf", "grad": "1"},
    }
    assert draw(y).svg


def test_a_leaf_alone_can_be_drawn():
    assert len(draw(Value(1.0, label="alone")).scene.boxes) == 1
    assert "alone" in draw(Value(1.0, label="alone")).svg


# --- layout -----------------------------------------------------------------------------------


@pytest.mark.parametrize("edges", [False, True])
def test_boxes_do_not_overlap_and_operands_stand_left(edges):
    _, loss = network_loss()
    loss.backward()
    scene = draw(loss, edges=edges).scene
    layout = lay_out(scene)
    for i, (x, y, w, h) in enumerate(layout.places):
        assert x >= 0
        assert y >= 0
        assert x + w <= layout.width
        assert y + h <= layout.height
        for x2, y2, w2, h2 in layout.places[i + 1 :]:
            assert x + w <= x2 or x2 + w2 <= x or y + h <= y2 or y2 + h2 <= y
    for link in scene.links:
        x, _, w, _ = layout.places[link.source]
        assert x + w < layout.places[link.target][0]


def _luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_texts_have_the_contrast_that_wcag_asks_for(colours):
    for name in ("text", "dim", "leaf", "op", "result"):
        for ground in ("paper", "box"):
            light, dark = sorted([_luminance(colours[name]), _luminance(colours[ground])])[::-1]
            assert (light + 0.05) / (dark + 0.05) >= 4.5, (name, ground)


# --- files ------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".svg", ".png", ".dot", ".gv", ".mmd", ".mermaid", ".SVG"])
def test_the_suffix_tells_the_format(suffix, tmp_path):
    file = tmp_path / f"graph{suffix}"
    drawing = draw(small(), file)
    content = file.read_bytes()
    if suffix == ".png":
        assert content.startswith(b"\x89PNG")
        assert len(content) > 5_000  # there is something on it
    elif suffix.lower() == ".svg":
        assert content.decode() == drawing.svg + "\n"
    else:
        assert content.decode() == (drawing.dot if suffix in (".dot", ".gv") else drawing.mermaid)


def test_png_is_light_or_dark(tmp_path):
    assert draw(small()).png == draw(small(), theme="light").png
    assert draw(small(), theme="dark").png != draw(small(), theme="light").png


def test_svg_follows_the_reader_or_a_theme():
    assert "prefers-color-scheme" in draw(small()).svg
    assert "prefers-color-scheme" not in draw(small(), theme="dark").svg
    assert DARK["paper"] in draw(small(), theme="dark").svg
    assert DARK["paper"] not in draw(small(), theme="light").svg


def test_labels_are_text_in_every_format():
    y = Value(1.0, label=HOSTILE) * 2.0
    y.label = HOSTILE
    drawing = draw(y)
    root = ET.fromstring(drawing.svg)
    kinds = {x.tag.rpartition("}")[2] for x in root.iter()}
    assert kinds == {"svg", "title", "style", "rect", "text", "path", "g"}
    assert any("onerror" in (x.text or "") for x in root.iter())
    assert "<img" not in drawing.svg
    assert "<img" not in drawing.mermaid
    diagram = drawing.mermaid.partition("flowchart LR")[2]
    assert '"' not in re.sub(r'\["[^"]*"\]', "", diagram)
    for line in drawing.dot.splitlines():
        if "[label=" in line:
            assert re.fullmatch(r'  n\d+ \[label="(?:[^"\\]|\\.)*", color="#\w+"[^"]*\]', line)


def test_a_label_that_is_long_is_shortened_in_the_box_and_whole_in_the_tooltip():
    label = "a very long label that nobody wants to read in a box"
    box = draw(Value(1.0, label=label) + 1.0).scene.boxes[0]
    assert len(box.title[0]) < 25
    assert label in box.about


def test_a_missing_library_names_the_extra(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "grandalf.graphs", None)
    with pytest.raises(MissingExtraError, match=r"grandalf.*pip install 'chainrule\[draw\]'"):
        draw(small(), tmp_path / "x.svg")
    draw(small(), tmp_path / "x.dot")  # needs none
    assert small()._repr_svg_() is None
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(MissingExtraError, match=r"PNG.*resvg_py.*chainrule\[draw\]"):
        draw(small(), tmp_path / "x.png")


# --- large graphs -----------------------------------------------------------------------------


def test_folding_by_neuron_and_by_layer():
    _, loss = network_loss()
    loss.backward()
    neurons = draw(loss, fold="neuron")
    names = {x.title[0] for x in neurons.scene.boxes if x.kind == "fold"}
    assert names == {"layers.1.neurons.0", *[f"layers.0.neurons.{i}" for i in range(4)]}
    assert "by neuron" in words(neurons)
    layers = draw(loss, fold="layer")
    assert {"layers.0", "layers.1"} <= {x.title[0] for x in layers.scene.boxes}
    assert "by layer" in words(layers)
    assert len(layers.scene.boxes) < len(neurons.scene.boxes)


def test_a_folded_neuron_shows_its_output_and_its_gradient():
    net, _ = network_loss()
    hidden = net.layers[0]([0.5, 1.0])
    (out,) = net.layers[1](hidden)
    y = out * 3.0
    y.backward()
    shown = rows_of(draw(y, fold="neuron"))["layers.0.neurons.2"]
    assert float(shown["out"].replace("−", "-")) == pytest.approx(hidden[2].data, rel=1e-5)
    assert float(shown["grad"].replace("−", "-")) == pytest.approx(hidden[2].grad, rel=1e-5)
    assert shown["values"] == "8"  # 2 weights, a bias, 2 products, 2 sums, tanh


def test_a_neuron_ends_with_its_activation():
    _, loss = network_loss()
    groups = {x.name: x.nodes for x in groups_of([*_order(loss)], loss, "neuron") if x.name}
    assert groups["layers.1.neurons.0"][-1]._op == "sigmoid"
    assert all(x[-1]._op == "tanh" for name, x in groups.items() if "layers.0" in name)


def _order(value):
    return chainrule.topological_order(value)


def test_every_value_is_in_one_group():
    _, loss = network_loss(rows=20)
    for by in ("neuron", "layer"):
        members = [id(x) for group in groups_of(_order(loss), loss, by) for x in group.nodes]
        assert sorted(members) == sorted(map(id, _order(loss)))


@pytest.mark.parametrize(("rows", "by"), [(1, None), (5, "neuron")])
def test_small_graphs_are_drawn_whole_and_large_ones_folded(rows, by):
    _, loss = network_loss(rows)
    drawing = draw(loss)
    if by is None:
        assert len(drawing.scene.boxes) == len(_order(loss))
        assert not any("folded" in x for x in drawing.scene.caption)
    else:
        assert f"by {by}" in words(drawing)
        assert f"{len(_order(loss)):,} values" in words(drawing)


def test_the_neighbourhood_of_one_value():
    _, loss = network_loss(rows=3)
    drawing = draw(loss, around="layers.1.neurons.0.bias", radius=1)
    labels = [x.title for x in drawing.scene.boxes]
    assert ("layers.1.neurons.0", "bias") in labels
    assert "those within 1 step of layers.1.neurons.0.bias" in words(drawing)
    assert {x.kind for x in drawing.scene.boxes} == {"leaf", "op", "stub"}


def test_stubs_count_what_they_stand_for():
    x = Value(1.0, label="x")
    chain = x
    for _ in range(10):
        chain = chain * 2.0
    middle = _order(chain)[5]
    boxes = draw(chain, around=middle, radius=2).scene.boxes
    assert [b.about for b in boxes if b.kind == "stub"] == ["1 operand folded", "1 use folded"]


def test_100_000_values_are_drawn_in_seconds():
    x = Value(1.0, label="x")
    y = x
    for _ in range(50_000):
        y = y * 0.999 + x
    started = time.perf_counter()
    drawing = draw(y)
    assert drawing.svg
    assert time.perf_counter() - started < 20.0
    assert 20 < len(drawing.scene.boxes) <= 2 * 80
    assert "of 100,001 values" in words(drawing)

    _, loss = network_loss(rows=850, sizes=(2, 8, 4, 1))
    assert len(_order(loss)) > 100_000
    loss.backward()
    started = time.perf_counter()
    drawing = draw(loss)
    assert drawing.svg
    assert time.perf_counter() - started < 20.0
    assert "by neuron" in words(drawing)


def test_a_sum_of_very_many_is_cut_to_the_limit():
    y = chainrule.sum([Value(float(i)) for i in range(5_000)])
    drawing = draw(y, limit=20)
    assert len(drawing.scene.boxes) <= 21
    assert "+4,981" in [x.title[0] for x in drawing.scene.boxes]
    assert "limit=20" in words(drawing)


# --- networks ---------------------------------------------------------------------------------


def test_a_small_network_is_drawn_neuron_by_neuron():
    net, loss = network_loss()
    assert rows_of(draw(net))["layers.0.neurons.1"]["|grad|"] == "not yet"
    loss.backward()
    scene = draw(net).scene
    assert len(scene.boxes) == 2 + 4 + 1
    assert [x.weight for x in scene.links[:2]] == [w.data for w in net.layers[0].neurons[0].weights]
    assert scene.title == "Network 2 → 4 → 1: 17 parameters"
    assert "not yet" not in str(rows_of(draw(net)))


def test_a_large_network_is_drawn_layer_by_layer():
    drawing = draw(Network([64, 128, 10]))
    assert len(drawing.scene.boxes) == 3
    assert "folded" in words(drawing)
    assert rows_of(drawing)["layers.0"]["parameters"] == "8,320"
    assert len(draw(Network([2, 3, 1]), fold="layer").scene.boxes) == 3


@pytest.mark.parametrize("make", [lambda net: net.layers[0], lambda net: net.layers[0].neurons[0]])
def test_layers_and_neurons_can_be_drawn_too(make):
    assert draw(make(Network([2, 3, 1]))).svg


# --- notebooks --------------------------------------------------------------------------------


def test_a_notebook_shows_a_value_as_its_graph():
    assert small()._repr_svg_().startswith("<svg")
    assert draw(small())._repr_svg_().startswith("<svg")
    assert "by neuron" in network_loss(rows=5)[1]._repr_svg_()


def test_a_notebook_shows_the_text_of_what_has_no_graph():
    assert Value(1.0)._repr_svg_() is None
    with no_grad():
        y = small()
    assert y._repr_svg_() is None


# --- refusals ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"fold": "all"}, "fold must be one of 'auto', 'none', 'neuron', 'layer'"),
        ({"theme": "blue"}, "theme must be one of"),
        ({"limit": 1}, "limit must be a whole number of at least 2"),
        ({"radius": 0}, "radius must be a whole number of at least 1"),
        ({"path": "graph.pdf"}, "by ending in .svg, .png"),
        ({"path": 3}, "path must be a file name such as 'graph.svg'"),
        ({"around": "z"}, "does not contain around='z' (a str). Its labels: 'a', 'b'."),
        ({"around": Value(1.0)}, "does not contain around=Value"),
        ({"around": 3}, "around must be a Value or its label"),
        ({"fold": "layer"}, "this graph has none"),
        ({"fold": "none", "limit": 3}, "would draw 4 boxes, and limit=3"),
    ],
)
def test_wrong_options_are_refused(wrong, said):
    with pytest.raises(OptionError, match=re.escape(said)):
        draw(small(), **wrong)


def test_wrong_things_are_refused():
    with pytest.raises(OptionError, match=r"got \[Value.*a list\)\. Draw one of its elements"):
        draw([small()])
    with pytest.raises(OptionError, match="takes a Value, a Network"):
        draw(3.0)
    with pytest.raises(OptionError, match="a network has layers"):
        draw(Network([2, 1]), around="x")
    with pytest.raises(OptionError, match="would draw 130 neurons"):
        draw(Network([2, 128, 2]), fold="neuron")
    with pytest.raises(OptionError, match=r"leaves .* boxes"):
        draw(network_loss(rows=2)[1], fold="neuron", limit=3)
    with no_grad():
        y = small()
    with pytest.raises(GraphError, match="made under no_grad"):
        draw(y)


def test_two_values_with_the_asked_label_are_refused():
    y = Value(1.0, label="x") * Value(2.0, label="x")
    with pytest.raises(OptionError, match="2 values have the label 'x'"):
        draw(y, around="x")
