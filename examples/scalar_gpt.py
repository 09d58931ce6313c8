"""A GPT in plain scalar code: lists, loops, and chainrule's operations.

It reads a word letter by letter and learns to say which letter comes next.  Everything
a large language model has is here, only small: embeddings, attention with several
heads, a feed-forward part, residual connections, normalisation, and Adam.

    python examples/scalar_gpt.py                  compiled to NumPy
    python examples/scalar_gpt.py --engine eager   number by number: the same losses
    python examples/scalar_gpt.py --engine numba   compiled to machine code

The functions below know nothing of compiling.  Only `make_step` does, in one line.

The architecture is GPT-2's (Radford et al., 2019) without biases, with root mean square
norm (Zhang & Sennrich, 2019) and the squared ReLU of Primer (So et al., 2021).
"""

import argparse
import random
import time

from chainrule import Value, dot, log_softmax, mean, no_grad, pick, relu, softmax, sqrt

WORDS = """
    almeron barvick belindo brasuna calvern corvina dalmint dorvane elmira fanbrel
    fendora galvona garmel halvira hestron ilvane jendora kalmont kelvira larvick
    lindoma marvena melidor minvala norvick orlinda palmera pendrik quelmar rasvina
    relmont sandrev selvina tarmond tilvera ulmeran valdora velmira wendral yorvane
""".split()
"""Words of no language: four dozen would be as good, and so would your own."""

LETTERS = sorted(set("".join(WORDS)))
END = len(LETTERS)  # the token before the first letter and after the last one
TOKENS = END + 1

WIDTH = 16  # numbers that stand for a token
HEADS = 4
HEAD = WIDTH // HEADS
POSITIONS = 16  # the longest text that it can read


def encode(word):
    """A word as tokens: numbers, with an end at both ends."""
    return [END, *[LETTERS.index(letter) for letter in word], END]


# --- the network ------------------------------------------------------------------------------


def make_weights(seed=0):
    """Matrices of random numbers: lists of rows, which are lists of `Value`s."""
    source = random.Random(seed)

    def matrix(rows, columns, size=0.08):
        return [[Value(source.gauss(0.0, size)) for _ in range(columns)] for _ in range(rows)]

    return {
        "token": matrix(TOKENS, WIDTH),
        "position": matrix(POSITIONS, WIDTH),
        "query": matrix(WIDTH, WIDTH),
        "key": matrix(WIDTH, WIDTH),
        "value": matrix(WIDTH, WIDTH),
        "join": matrix(WIDTH, WIDTH, size=0.02),
        "up": matrix(4 * WIDTH, WIDTH),
        "down": matrix(WIDTH, 4 * WIDTH, size=0.02),
        "output": matrix(TOKENS, WIDTH),
    }


def parameters_of(weights):
    """All weights in one list."""
    return [w for matrix in weights.values() for row in matrix for w in row]


def linear(matrix, x):
    """A matrix times a vector."""
    return [dot(row, x) for row in matrix]


def add(x, y):
    """Two vectors, number by number."""
    return [a + b for a, b in zip(x, y, strict=True)]


def norm(x):
    """The vector with a root mean square of 1."""
    size = sqrt(dot(x, x) / len(x) + 1e-5)
    return [a / size for a in x]


def attend(query, keys, values):
    """A mixture of the values seen so far: the more a key suits the query, the more of it."""
    shares = softmax([dot(query, key) / HEAD**0.5 for key in keys])
    return [dot(shares, [value[i] for value in values]) for i in range(HEAD)]


def read(weights, token, position, keys, values):
    """Read one more token: a score (logit) for each token that may come next.

    ``keys`` and ``values`` hold those of all positions so far, and grow by one.
    """
    row = [pick(token, column) for column in zip(*weights["token"], strict=True)]
    x = add(row, weights["position"][position])

    y = norm(x)
    query = linear(weights["query"], y)
    keys.append(linear(weights["key"], y))
    values.append(linear(weights["value"], y))
    heads = []
    for start in range(0, WIDTH, HEAD):
        part = slice(start, start + HEAD)
        heads += attend(query[part], [k[part] for k in keys], [v[part] for v in values])
    x = add(x, linear(weights["join"], heads))

    hidden = [relu(a) ** 2 for a in linear(weights["up"], norm(x))]
    x = add(x, linear(weights["down"], hidden))
    return linear(weights["output"], norm(x))


def loss(weights, tokens):
    """How surprised it is by a word: the mean of -log(probability of the next token)."""
    keys, values = [], []
    surprises = []
    for position in range(len(tokens) - 1):
        logits = read(weights, tokens[position], position, keys, values)
        surprises.append(-pick(tokens[position + 1], log_softmax(logits)))
    return mean(surprises)


# --- training -----------------------------------------------------------------------------------


def make_step(weights, engine="numpy"):
    """A function ``tokens -> (loss, gradients)``, for one word at a time."""
    parameters = parameters_of(weights)
    if engine == "eager":

        def step(tokens):
            for p in parameters:
                p.grad = 0.0
            found = loss(weights, tokens)
            found.backward()
            return found.data, [p.grad for p in parameters]

        return step

    from chainrule import compile

    compiled = compile(lambda tokens: loss(weights, tokens), parameters=parameters, engine=engine)
    return lambda tokens: compiled([tokens])  # a batch of one


class Adam:
    """The rule of Adam (Kingma & Ba, 2015): floats, or whole arrays of them, go through it."""

    def __init__(self, parameters, compiled):
        self.parameters = parameters
        self.t = 0
        if compiled:
            import numpy as np

            self.p = np.array([p.data for p in parameters])
            self.m, self.v = np.zeros_like(self.p), np.zeros_like(self.p)
        else:
            self.m, self.v = [0.0] * len(parameters), [0.0] * len(parameters)
