import contextlib
import copy
import json
import math
import os
import pathlib
import stat
import struct
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chainrule import ModelFileError, OptionError
from chainrule.nn import Network, storage

NEURON = '{"activation": "sigmoid", "weights": [0.5, -1.25], "bias": 0.0}'
TEXT = f"""{{
  "format": "chainrule network",
  "version": 1,
  "sizes": [2, 1],
  "layers": [
    {{"neurons": [
      {NEURON}
    ]}}
  ],
  "meta": {{}}
}}
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.json"


@pytest.fixture
def net():
    net = Network([2, 1])
    for p, x in zip(net.parameters(), [0.5, -1.25, 0.0], strict=True):
        p.data = x
    return net


def numbers(net):
    return [p.data for p in net.parameters()]


def bits(xs):
    return [struct.pack("<d", x) if x == x else "nan" for x in xs]


# --- there and back ---------------------------------------------------------------------------


def test_what_a_person_reads(net, path):
    net.save(path)
    assert path.read_text() == TEXT


def test_there_and_back(path):
    net = Network([2, 3, 2], activation="leaky_relu", output_activation="linear", seed=1)
    net.layers[0].neurons[1].activation = "tanh"
    net.save(str(path))
    again = Network.load(str(path))
    assert again.sizes == net.sizes
    assert numbers(again) == numbers(net)
    assert repr(again) == repr(net)
    assert again.predict([0.5, -1.5]) == net.predict([0.5, -1.5])
    assert [p.label for p in again.parameters()] == [name for name, _ in net.named_parameters()]
    assert [layer["neurons"] for layer in json.loads(path.read_text())["layers"]]


def test_a_subclass_loads_as_itself(net, path):
    class Mine(Network):
        pass

    net.save(path)
    assert type(Mine.load(path)) is Mine


@given(st.lists(st.floats(), min_size=3, max_size=3))
def test_every_float_comes_back_bit_for_bit(tmp_path_factory, xs):
    path = tmp_path_factory.getbasetemp() / "floats.json"
    net = Network([2, 1])
    for p, x in zip(net.parameters(), xs, strict=True):
        p.data = x
    net.save(path)
    assert bits(numbers(Network.load(path))) == bits(xs)


def test_non_finite_numbers_are_texts(net, path):
    for p, x in zip(net.parameters(), [math.inf, -math.inf, math.nan], strict=True):
        p.data = x
    net.save(path)
    assert '"weights": ["inf", "-inf"], "bias": "nan"' in path.read_text()
    json.loads(path.read_text(), parse_constant=pytest.fail)


def test_meta(net, path):
    net.meta = {"inputs": ["größe", "b"], "scale": [1.5, None, True], "n": {"deep": 1}}
    net.save(path)
    assert Network.load(path).meta == net.meta
    assert "größe" in path.read_text(encoding="utf-8")
    net.save(path, meta={"classes": ("no", "yes")})
    assert Network.load(path).meta == {"classes": ["no", "yes"]}
    net.save(path, meta={})
    assert Network.load(path).meta == {}


def cyclic():
    meta = {}
    meta["self"] = meta
    return meta


@pytest.mark.parametrize(
    ("meta", "message"),
    [
        ({"a": math.nan}, r"meta\['a'\] is nan \(a float\); JSON holds texts, finite numbers"),
        ({"a": [1, {2, 3}]}, r"meta\['a'\]\[1\] is \{2, 3\} \(a set\).*Convert it"),
        ({1: 2}, r"meta has the key 1 \(an int\); JSON's keys are texts"),
        (cyclic(), "nested more than 20 deep"),
        ([1], r"meta must be a dictionary; got \[1\] \(a list\)"),
        ({"a": "\ud800"}, "no valid Unicode"),
    ],
)
def test_meta_that_is_not_plain_json(net, path, meta, message):
    net.save(path)
    with pytest.raises(OptionError, match=message):
        net.save(path, meta=meta)
    assert path.read_text() == TEXT


def test_a_function_as_activation_cannot_be_saved(net, path):
    net.save(path)
    net.layers[0].neurons[0].activation = abs
    with pytest.raises(OptionError, match=r"activation of layers.0.neurons.0 is <built-in .* abs"):
        net.save(path)
    assert path.read_text() == TEXT


# --- writing is all or nothing ------------------------------------------------------------------


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("trouble", [OSError("disk full"), KeyboardInterrupt()])
def test_failed_save_leaves_the_old_file_whole(net, path, monkeypatch, step, trouble):
    path.write_text("old")

    def fail(*_):
        raise trouble

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(type(trouble)):
        net.save(path)
    monkeypatch.undo()
    assert os.listdir(path.parent) == [path.name]
    assert path.read_text() == "old"


def test_save_where_nothing_can_be_written(net, tmp_path):
    with pytest.raises(FileNotFoundError):
        net.save(tmp_path / "missing" / "model.json")
    with pytest.raises(OptionError, match="it is not a file"):
        net.save(tmp_path)
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(sys.platform == "win32", reason="modes and links of POSIX")
def test_save_keeps_mode_and_link(net, tmp_path, path):
    net.save(path)
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask
    path.chmod(0o640)
    link = tmp_path / "link.json"
    link.symlink_to(path)
    net.parameters()[0].data = 7.0
    net.save(link)
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert Network.load(path).parameters()[0].data == 7.0


# --- damaged, foreign and hostile files -----------------------------------------------------------


def changed(**changes):
    content = json.loads(TEXT)
    for name, value in changes.items():
        content[name] = value
    return json.dumps(content)


def with_neurons(*layers):
    return changed(layers=[{"neurons": list(layer)} for layer in layers])


def neuron(**changes):
    return {**json.loads(NEURON), **changes}


BAD = {
    "empty": ("", "not JSON, or cut short: Expecting value at line 1, column 1"),
    "cut short": (TEXT[:100], "not JSON, or cut short"),
    "something after it": (TEXT + "x", "not JSON, or cut short: Extra data"),
    "a list": ("[]", "no saved network"),
    "a number": ("1", "no saved network"),
    "another format": ('{"format": "onnx"}', 'no saved network: "format"'),
    "a later version": (changed(version=2), "version 2, and .* up to 1. Install a later chainr"),
    "version as text": (changed(version="1"), r"whole number from 1; got '1' \(a str\)"),
    "version as bool": (changed(version=True), "whole number from 1; got True"),
    "version 0": (changed(version=0), "whole number from 1; got 0"),
    "no layers key": (TEXT.replace('"layers"', '"layer"'), 'the file lacks the key "layers"'),
    "an unknown key": (changed(code="exit()"), "the file has the unknown key 'code'"),
    "repeated key": (TEXT.replace('"sizes": [2', '"version": 1, "sizes": [2'), "'version'.* twice"),
    "repeated deep key": (TEXT.replace('"bias"', '"bias": 1, "bias"'), "'bias' .*stands twice"),
    "layers no list": (changed(layers={}), r"layers must be a list; got \{\}"),
    "no layers": (changed(layers=[]), "it has no layers"),
    "layer no dictionary": (changed(layers=[[]]), r"layers\[0\] must be a dictionary; got \[\]"),
    "layer of other keys": (changed(layers=[{"neuron": []}]), r'layers\[0\] lacks .* "neurons"'),
    "no neurons": (with_neurons([]), r"layers\[0\] has no neurons"),
    "neuron no dictionary": (with_neurons([7]), r"layers\[0\].neurons\[0\] must be a dictionary"),
    "neuron of other keys": (with_neurons([neuron(x=1)]), "has the unknown key 'x'"),
    "no weights": (with_neurons([neuron(weights=[])]), "has no weights"),
    "weights no list": (with_neurons([neuron(weights=1)]), "weights must be a list; got 1"),
    "weight as text": (with_neurons([neuron(weights=["1", 2])]), r"weights\[0\] must be a number"),
    "weight as bool": (with_neurons([neuron(weights=[True, 2])]), "must be a number; got True"),
    "weight null": (with_neurons([neuron(weights=[None, 2])]), "must be a number; got None"),
    "bias a list": (with_neurons([neuron(bias=[1])]), r"bias must be a number; got \[1\]"),
    "Infinity as text": (with_neurons([neuron(bias="Infinity")]), "must be a number"),
    "a huge integer": (with_neurons([neuron(bias=10**400)]), "must be a number; got 1000"),
    "a longer integer": (TEXT.replace("0.0}", "1" * 5000 + "}"), "integer of thousands of digits"),
    "a huge float": (TEXT.replace("0.0}", "1e999}"), "the number '1e999' .* too large"),
    "NaN": (TEXT.replace("0.0}", "NaN}"), "NaN is not JSON"),
    "Infinity": (TEXT.replace("0.5", "-Infinity"), "-Infinity is not JSON"),
    "unknown activation": (with_neurons([neuron(activation="os.system")]), "activation is unknown"),
    "activation a list": (with_neurons([neuron(activation=["tanh"])]), "must be a text"),
    "uneven weights": (
        with_neurons([neuron(), neuron(weights=[1])]),
        r"layers\[0\].neurons\[1\] has 1 weight\(s\) where 2 are needed",
    ),
    "layers that do not fit": (
        with_neurons([neuron()], [neuron()]),
        r"layers\[1\].neurons\[0\] has 2 weight\(s\) where 1 are needed",
    ),
    "sizes that lie": (changed(sizes=[10**9, 10**9]), r"sizes is .* but the layers are \[2, 1\]"),
    "sizes no list": (changed(sizes=None), "sizes is None"),
    "meta no dictionary": (changed(meta=[]), r"meta must be a dictionary; got \[\]"),
    "deep meta": (changed(meta={"a": json.loads("[" * 30 + "]" * 30)}), "nested more than 20 deep"),
    "deep nesting": ("[" * 200_000 + "]" * 200_000, "nested too deeply"),
    "deep dictionaries": ('{"a":' * 200_000 + "1" + "}" * 200_000, "nested too deeply"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_refused_with_a_reason(path, name):
    text, reason = BAD[name]
    path.write_text(text)
    with pytest.raises(ModelFileError, match=rf"cannot load .*model.json': .*{reason}"):
        Network.load(path)


@pytest.mark.parametrize("data", [b"\x80\x04\x95", b"\xff\xfe{\x00", b"\x89PNG\r\n", bytes(100)])
def test_binary_files_are_refused(path, data):
    path.write_bytes(data)
    with pytest.raises(ModelFileError, match=r"is not text in UTF-8|not JSON"):
        Network.load(path)


def test_files_of_any_damage_are_refused_or_read(net, path):
    """Each byte replaced in turn: a network or a `ModelFileError`, nothing else."""
    net.save(path)
    data = path.read_bytes()
    for i in range(len(data)):
        for byte in b'\x00"{[9,e\xff':
            path.write_bytes(data[:i] + bytes([byte]) + data[i + 1 :])
            with contextlib.suppress(ModelFileError):
                Network.load(path).predict([0.5, 0.5])


def test_a_large_file_is_refused(net, path, monkeypatch):
    net.save(path)
    monkeypatch.setattr(storage, "LARGEST_FILE", len(TEXT) - 1)
    with pytest.raises(ModelFileError, match="it is larger than"):
        Network.load(path)
    monkeypatch.setattr(storage, "LARGEST_FILE", len(TEXT))
    Network.load(path)


def test_what_is_no_file(tmp_path):
    with pytest.raises(ModelFileError, match="it is not a file"):
        Network.load(tmp_path)
    with pytest.raises(FileNotFoundError):
        Network.load(tmp_path / "missing.json")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes of POSIX")
def test_a_pipe_does_not_hang(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="it is not a file"):
        Network.load(tmp_path / "pipe")
    with pytest.raises(OptionError, match="it is not a file"):
        Network([1, 1]).save(tmp_path / "pipe")


def test_a_byte_order_mark_and_windows_lines_are_fine(path):
    path.write_bytes(b"\xef\xbb\xbf" + TEXT.replace("\n", "\r\n").encode())
    assert numbers(Network.load(path)) == [0.5, -1.25, 0.0]


def test_integers_are_numbers(path):
    path.write_text(TEXT.replace("0.5", "3"))
    assert numbers(Network.load(path)) == [3.0, -1.25, 0.0]
    assert type(Network.load(path).parameters()[0].data) is float


def test_loading_draws_no_random_numbers(net, path):
    import random

    net.save(path)
    before = random.getstate()
    Network.load(path)
    assert random.getstate() == before


def test_saving_changes_nothing(net, path):
    before = copy.deepcopy(net)
    net.save(path, meta={"a": 1})
    assert net.meta == before.meta == {}
    assert numbers(net) == numbers(before)
    assert isinstance(path, pathlib.Path)
