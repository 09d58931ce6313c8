"""Networks in files: JSON that a person can read, and that a stranger may have written.

A saved network looks like this::

    {
      "format": "chainrule network",
      "version": 1,
      "sizes": [2, 1],
      "layers": [
        {"neurons": [
          {"activation": "sigmoid", "weights": [0.5, -1.25], "bias": 0.0}
        ]}
      ],
      "meta": {}
    }

Floats are written in the shortest form that reads back exactly; those that JSON
lacks are the texts ``"inf"``, ``"-inf"`` and ``"nan"``.

Reading trusts nothing: every part is checked before it is used, and nothing is
looked up but activations by name.
"""

from __future__ import annotations

import json
import math
import os
import secrets
import shutil
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

from chainrule.errors import ModelFileError, OptionError, describe
from chainrule.nn.activations import ACTIVATIONS
from chainrule.options import check_folder

if TYPE_CHECKING:
    from chainrule.nn.layers import Network

__all__ = ["load", "save"]

FORMAT: Final = "chainrule network"
VERSION: Final = 1
LARGEST_FILE: Final = 64 * 2**20
"""Bytes: some three million parameters; more would hardly fit into memory as a graph."""
DEEPEST: Final = 20
"""How far lists and dictionaries in ``meta`` may be nested."""
NON_FINITE: Final = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}

N = TypeVar("N", bound="Network")
Path = str | os.PathLike[str]


# --- writing --------------------------------------------------------------------------------


def save(network: Network, path: Path, meta: Mapping[str, Any] | None = None) -> None:
    """Write a network to a file, which is replaced in one step; see `Network.save`."""
    text = _written(network, network.meta if meta is None else meta)
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise OptionError(f"meta holds text that is no valid Unicode: {error}") from None
    _replace(path, data)


def _written(network: Network, meta: Any) -> str:
    layers = []
    for i, layer in enumerate(network.layers):
        neurons = []
        for j, neuron in enumerate(layer.neurons):
            if not isinstance(neuron.activation, str):
                raise OptionError(
                    f"the network cannot be saved: the activation of layers.{i}.neurons.{j} is "
                    f"{describe(neuron.activation)}, and a file holds no functions. Use one by "
                    "name, or keep the numbers yourself: [p.data for p in net.parameters()]."
                )
            described = {
                "activation": neuron.activation,
                "weights": [_stored(w.data) for w in neuron.weights],
                "bias": _stored(neuron.bias.data),
            }
            neurons.append(json.dumps(described))
        layers.append('    {"neurons": [\n      ' + ",\n      ".join(neurons) + "\n    ]}")
    if not isinstance(meta, Mapping):
        raise OptionError(f"meta must be a dictionary; got {describe(meta)}")
    plain = _plain(meta, "meta", OptionError)
    return (
        "{\n"
        f'  "format": {json.dumps(FORMAT)},\n'
        f'  "version": {VERSION},\n'
        f'  "sizes": {json.dumps(network.sizes)},\n'
        '  "layers": [\n' + ",\n".join(layers) + "\n  ],\n"
        f'  "meta": {json.dumps(plain, ensure_ascii=False)}\n'
        "}\n"
    )


def _stored(x: float) -> float | str:
    return x if math.isfinite(x) else repr(x)


def _plain(value: Any, where: str, error: type[ValueError], depth: int = 0) -> Any:
    """A copy of plain JSON, or an error that says where it is not."""
    if depth > DEEPEST:
        raise error(f"{where[:60]}... is nested more than {DEEPEST} deep")
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(x, f"{where}[{i}]", error, depth + 1) for i, x in enumerate(value)]
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise error(f"{where} has the key {describe(key)}; JSON's keys are texts")
        return {k: _plain(x, f"{where}[{k!r}]", error, depth + 1) for k, x in value.items()}
    raise error(
        f"{where} is {describe(value)}; JSON holds texts, finite numbers, true, false, null, "
        "lists and dictionaries. Convert it, with float(...), .tolist() or str(...)."
    )


def _replace(path: Path, data: bytes) -> None:
    """Put ``data`` into the file at ``path``, wholly or not at all."""
    target = os.path.realpath(_checked(path))  # a symbolic link stays one
    exists = os.path.exists(target)
    if exists and not os.path.isfile(target):
        raise OptionError(f"cannot save to {os.fspath(path)!r}: it is not a file")
    check_folder(path)
    temporary = f"{target}.{secrets.token_hex(8)}.tmp"
    try:
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if exists:
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except BaseException as error:  # also an interruption must not leave half a file behind
        if os.path.exists(temporary):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.filename == temporary:
            raise type(error)(error.errno, error.strerror, os.fspath(path)) from None
        raise


def _checked(path: Any) -> Path:
    """``path`` if it can be the name of a file; an int would be an open file of anybody's."""
    try:
        if "\0" in os.fsdecode(path):
            raise OptionError(f"path cannot be a file's name: {describe(path)} has a zero byte")
    except TypeError:
        raise OptionError(
            f"path must be the name of a file, such as 'model.json', or a pathlib.Path; "
            f"got {describe(path)}."
        ) from None
    return path  # type: ignore[no-any-return]


# --- reading --------------------------------------------------------------------------------


def load(kind: type[N], path: Path) -> N:
    """Read a network of the class ``kind`` from a file; see `Network.load`."""
    _checked(path)
    try:
        return _built(kind, _parsed(_read(path)))
    except ModelFileError as error:
        raise ModelFileError(f"cannot load a network from {os.fspath(path)!r}: {error}") from None


def _read(path: Path) -> str:
    if os.path.exists(path) and not os.path.isfile(path):
        raise ModelFileError("it is not a file")
    with open(path, "rb") as file:
        data = file.read(LARGEST_FILE + 1)
    if len(data) > LARGEST_FILE:
        raise ModelFileError(f"it is larger than {LARGEST_FILE // 2**20} MB")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ModelFileError(
            f"it is not text in UTF-8 (byte {error.start} does not belong there), so it is no "
            "network that save() wrote"
        ) from None


def _parsed(text: str) -> Any:
    try:
        return json.loads(
            text, object_pairs_hook=_unrepeated, parse_constant=_refused, parse_float=_finite
        )
    except json.JSONDecodeError as error:
        raise ModelFileError(
            f"it is not JSON, or cut short: {error.msg} at line {error.lineno}, column "
            f"{error.colno}"
        ) from None
    except RecursionError:
        raise ModelFileError("it is nested too deeply") from None
    except ModelFileError:
        raise
    except ValueError:  # Python's limit on the digits of an integer
        raise ModelFileError("it holds an integer of thousands of digits") from None


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ModelFileError(f"the key {describe(key)} stands twice in one place")
        found[key] = value
    return found


def _refused(token: str) -> float:
    raise ModelFileError(f'{token} is not JSON; such a number is written as a text: "nan", "inf"')


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ModelFileError(f"the number {describe(digits)} is too large for a float")
    return number


def _built(kind: type[N], content: Any) -> N:
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ModelFileError(f'it is no saved network: "format": "{FORMAT}" is missing')
    version = content.get("version")
    if type(version) is not int or version < 1:
        raise ModelFileError(f"version must be a whole number from 1; got {describe(version)}")
    if version > VERSION:
        raise ModelFileError(
            f"it has version {version}, and this chainrule reads versions up to {VERSION}. "
            "Install a later chainrule."
        )
    _check_keys(content, "the file", {"format", "version", "sizes", "layers", "meta"})
    meta = _plain(_typed(content["meta"], dict, "meta"), "meta", ModelFileError)
    layers = [
        [_neuron(neuron, f"layers[{i}].neurons[{j}]") for j, neuron in enumerate(neurons)]
        for i, neurons in enumerate(_layers(content))
    ]
    _check_sizes(content["sizes"], layers)
    network = kind([len(layers[0][0][1]), *[len(neurons) for neurons in layers]], init="zeros")
    for layer, neurons in zip(network.layers, layers, strict=True):
        for neuron, (activation, weights, bias) in zip(layer.neurons, neurons, strict=True):
            neuron.activation = activation
            for parameter, number in zip(neuron.weights, weights, strict=True):
                parameter.data = number
            neuron.bias.data = bias
    network.meta = meta
    return network


def _layers(content: dict[str, Any]) -> list[list[Any]]:
    """The neurons of each layer, yet unread."""
    layers = []
    for i, layer in enumerate(_typed(content["layers"], list, "layers")):
        _check_keys(_typed(layer, dict, f"layers[{i}]"), f"layers[{i}]", {"neurons"})
        layers.append(_typed(layer["neurons"], list, f"layers[{i}].neurons"))
        if not layers[-1]:
            raise ModelFileError(f"layers[{i}] has no neurons")
    if not layers:
        raise ModelFileError("it has no layers")
    return layers


def _neuron(described: Any, where: str) -> tuple[str, list[float], float]:
    """A neuron's activation, weights and bias."""
    _typed(described, dict, where)
    _check_keys(described, where, {"activation", "weights", "bias"})
    activation = _typed(described["activation"], str, f"{where}.activation")
    if activation not in ACTIVATIONS:
        raise ModelFileError(f"{where}.activation is unknown: {describe(activation)}")
    weights = _typed(described["weights"], list, f"{where}.weights")
    return (
        activation,
        [_number(x, f"{where}.weights[{i}]") for i, x in enumerate(weights)],
        _number(described["bias"], f"{where}.bias"),
    )


def _check_sizes(sizes: Any, layers: list[list[tuple[str, list[float], float]]]) -> None:
    """Each layer takes what the one before it gives, and ``sizes`` says the same."""
    width = len(layers[0][0][1])
    found = [width]
    if not width:
        raise ModelFileError("layers[0].neurons[0] has no weights")
    for i, neurons in enumerate(layers):
        for j, (_, weights, _) in enumerate(neurons):
            if len(weights) != width:
                raise ModelFileError(
                    f"layers[{i}].neurons[{j}] has {len(weights)} weight(s) where {width} are "
                    "needed"
                )
        width = len(neurons)
        found.append(width)
    if sizes != found:
        raise ModelFileError(f"sizes is {describe(sizes)}, but the layers are {found}")


def _check_keys(content: dict[str, Any], where: str, expected: set[str]) -> None:
    for key in sorted(expected - set(content)):
        raise ModelFileError(f'{where} lacks the key "{key}"')
    for key in sorted(set(content) - expected):
        raise ModelFileError(f"{where} has the unknown key {describe(key)}")


T = TypeVar("T")


def _typed(value: Any, kind: type[T], where: str) -> T:
    if not isinstance(value, kind):
        names = {"dict": "a dictionary", "list": "a list", "str": "a text"}
        raise ModelFileError(f"{where} must be {names[kind.__name__]}; got {describe(value)}")
    return value


def _number(x: Any, where: str) -> float:
    if isinstance(x, str) and x in NON_FINITE:
        return NON_FINITE[x]
    if type(x) is int:
        try:
            return float(x)
        except OverflowError:
            pass
    if type(x) is float:
        return x
    raise ModelFileError(f"{where} must be a number; got {describe(x)}")
