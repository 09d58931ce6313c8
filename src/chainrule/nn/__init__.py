"""Neural networks out of scalars: layers, losses, optimisers, training, and files.

Start with ``layers.py``; everything that can be named by a text in a call, such as
``loss="hinge"`` or ``init="he_normal"``, stands in one of the dictionaries in capitals.

Example:
    >>> from chainrule.data import xor
    >>> net = Network([2, 4, 1], activation="tanh", output_activation="sigmoid", seed=1)
    >>> history = net.fit(*xor(), optimizer="adam", lr=0.1, epochs=100)
    >>> [round(p) for p in net.predict([[0, 0], [0, 1], [1, 0], [1, 1]])]
    [0, 1, 1, 0]
"""

from __future__ import annotations

from chainrule.nn.activations import ACTIVATIONS
from chainrule.nn.callbacks import EarlyStopping
from chainrule.nn.clipping import clip_norm, clip_value
from chainrule.nn.history import History
from chainrule.nn.initializers import INITIALIZERS
from chainrule.nn.layers import Layer, Network, Neuron
from chainrule.nn.losses import (
    LOSSES,
    Loss,
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    hinge_loss,
    l2_penalty,
    mse_loss,
)
from chainrule.nn.optimizers import OPTIMIZERS, SGD, Adam, AdamW, Optimizer, RMSprop
from chainrule.nn.schedules import (
    SCHEDULES,
    ConstantSchedule,
    CosineSchedule,
    LinearWarmup,
    Schedule,
    StepSchedule,
)

__all__ = [
    "ACTIVATIONS",
    "INITIALIZERS",
    "LOSSES",
    "OPTIMIZERS",
    "SCHEDULES",
    "SGD",
    "Adam",
    "AdamW",
    "ConstantSchedule",
    "CosineSchedule",
    "EarlyStopping",
    "History",
    "Layer",
    "LinearWarmup",
    "Loss",
    "Network",
    "Neuron",
    "Optimizer",
    "RMSprop",
    "Schedule",
    "StepSchedule",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "clip_norm",
    "clip_value",
    "cross_entropy",
    "hinge_loss",
    "l2_penalty",
    "mse_loss",
]
