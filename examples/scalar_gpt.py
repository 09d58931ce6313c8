"""A GPT in plain scalar code: lists, loops, and chainrule's operations.

It reads words letter by letter and learns which letter comes next; then it makes up
words of its own.  Everything a large language model has is here, only small: embeddings,
attention with several heads, a feed-forward part, residual connections, normalisation,
and Adam.

    python examples/scalar_gpt.py                     compiled to NumPy
    python examples/scalar_gpt.py --engine eager      number by number: the same losses
    python examples/scalar_gpt.py --engine numba      compiled to machine code

The network below knows nothing of compiling: only `make_gradient` does, in one line.  A
token is a number that is not known when the code is compiled, so a list is never indexed
with one: ``pick(token, options)`` does that.

The architecture is that of GPT-2 (Radford et al., 2019) without biases, with the root
mean square norm of Zhang & Sennrich (2019) and the squared ReLU of So et al. (2021).
"""

import argparse
import random
import time

from chainrule import Value, dot, exp, logsumexp, mean, no_grad, pick, relu, softmax, sqrt

TEXT = """
    almeron balindo belora bravick calvern corvina dalmin dorvane elmira fanbrel
    fendora galvona garmel halvira hestron ilvane jendora kalmont kelvira larvick
    lindoma marvena melidor minval norvick orlinda palmera pendri quelmar rasvina
    relmont sandrev selvina tarmon tilvera ulmeran valdora velmi wendral yorvane
"""
WORDS = TEXT.split()  # of no language; others would do as well, of up to 14 letters

LETTERS = sorted(set("".join(WORDS)))
END = len(LETTERS)  # the token in front of the first letter and behind the last one
TOKENS = END + 1

WIDTH = 16  # how many numbers stand for a token
HEADS = 4
POSITIONS = 16  # how many tokens it can read


def encode(word):
    """A word as tokens, with an end on both sides."""
    return [END, *[LETTERS.index(letter) for letter in word], END]


# --- the network --------------------------------------------------------------------------


def make_weights(seed=0):
    """Matrices of small random numbers, by name: lists of rows of `Value`s."""
    source = random.Random(seed)

    def matrix(rows, columns):
        return [[Value(source.gauss(0.0, 0.1)) for _ in range(columns)] for _ in range(rows)]

    return {
        "token": matrix(TOKENS, WIDTH),
        "position": matrix(POSITIONS, WIDTH),
        "query": matrix(WIDTH, WIDTH),
        "key": matrix(WIDTH, WIDTH),
        "value": matrix(WIDTH, WIDTH),
        "join": matrix(WIDTH, WIDTH),
        "up": matrix(4 * WIDTH, WIDTH),
        "down": matrix(WIDTH, 4 * WIDTH),
        "output": matrix(TOKENS, WIDTH),
    }


def parameters_of(weights):
    """All weights in one list."""
    return [w for matrix in weights.values() for row in matrix for w in row]


def linear(matrix, x):
    """A matrix times a vector."""
    return [dot(row, x) for row in matrix]


def plus(x, y):
    """Two vectors added, number by number."""
    return [a + b for a, b in zip(x, y, strict=True)]


def norm(x):
    """A vector scaled to a root mean square of 1."""
    size = sqrt(dot(x, x) / len(x) + 1e-5)
    return [a / size for a in x]


def attend(query, keys, values):
    """A mixture of values: the better a key suits the query, the larger its value's share."""
    scores = [dot(query, key) / len(query) ** 0.5 for key in keys]
    total = logsumexp(scores)
    shares = [exp(score - total) for score in scores]
    return [dot(shares, column) for column in zip(*values, strict=True)]


def read(weights, token, position, keys, values):
    """Read one token more, and give a score (a logit) to each token that may come next.

    ``keys`` and ``values`` hold those of the positions so far, and grow by one.
    """
    embedding = [pick(token, column) for column in zip(*weights["token"], strict=True)]
    x = plus(embedding, weights["position"][position])

    normed = norm(x)
    query = linear(weights["query"], normed)
    keys.append(linear(weights["key"], normed))
    values.append(linear(weights["value"], normed))
    mixed = []
    for start in range(0, WIDTH, WIDTH // HEADS):
        head = slice(start, start + WIDTH // HEADS)
        mixed += attend(query[head], [key[head] for key in keys], [v[head] for v in values])
    x = plus(x, linear(weights["join"], mixed))

    hidden = [relu(a) ** 2 for a in linear(weights["up"], norm(x))]
    x = plus(x, linear(weights["down"], hidden))
    return linear(weights["output"], norm(x))


def loss(weights, tokens):
    """How surprising a word is: the mean of -log(probability of the token that came next)."""
    keys, values, surprises = [], [], []
    for position, token in enumerate(tokens[:-1]):
        logits = read(weights, token, position, keys, values)
        surprises.append(logsumexp(logits) - pick(tokens[position + 1], logits))
    return mean(surprises)


# --- training -------------------------------------------------------------------------------


def make_gradient(weights, engine="numpy"):
    """A function ``tokens -> (loss, gradients)``, the gradients in the order of `parameters_of`."""
    parameters = parameters_of(weights)
    if engine != "eager":
        from chainrule import compile

        step = compile(lambda tokens: loss(weights, tokens), parameters=parameters, engine=engine)
        return lambda tokens: step([tokens])  # a batch of one word

    def gradient(tokens):
        for p in parameters:
            p.grad = 0.0
        found = loss(weights, tokens)
        found.backward()
        return found.data, [p.grad for p in parameters]

    return gradient


def adam(p, g, m, v, t, lr, beta1=0.9, beta2=0.99):
    """One step of Adam (Kingma & Ba, 2015), of a single number or of an array of them."""
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g * g
    p = p - lr * (m / (1 - beta1**t)) / ((v / (1 - beta2**t)) ** 0.5 + 1e-8)
    return p, m, v


class Training:
    """Weights, and what Adam remembers of them: numbers, or arrays if it runs compiled."""

    def __init__(self, engine="numpy", seed=0):
        self.weights = make_weights(seed)
        self.parameters = parameters_of(self.weights)
        self.gradient = make_gradient(self.weights, engine)
        self.eager = engine == "eager"
        self.t = 0
        zeros = [0.0] * len(self.parameters)
        if self.eager:
            self.m, self.v = zeros, zeros
        else:
            import numpy as np

            self.m, self.v = np.array(zeros), np.array(zeros)
            self.p = np.array([p.data for p in self.parameters])

    def step(self, tokens, lr=0.01):
        """Learn from one word; returns its loss before that."""
        found, g = self.gradient(tokens)
        self.t += 1
        if self.eager:
            new = [
                adam(p.data, *rest, self.t, lr)
                for p, *rest in zip(self.parameters, g, self.m, self.v, strict=True)
            ]
            numbers, self.m, self.v = zip(*new, strict=True)
        else:
            self.p, self.m, self.v = adam(self.p, g, self.m, self.v, self.t, lr)
            numbers = self.p.tolist()
        for p, number in zip(self.parameters, numbers, strict=True):
            p.data = number
        return found


# --- making up words --------------------------------------------------------------------------


def sample(weights, source, temperature=0.7):
    """A new word, drawn letter by letter."""
    token, word, keys, values = END, "", [], []
    with no_grad():
        for position in range(POSITIONS):
            logits = read(weights, token, position, keys, values)
            chances = softmax([float(x) / temperature for x in logits])
            token = source.choices(range(TOKENS), chances)[0]
            if token == END:
                break
            word += LETTERS[token]
    return word


def main():
    parser = argparse.ArgumentParser(description="Train a tiny GPT on made-up words.")
    parser.add_argument("--engine", choices=["eager", "numpy", "numba"], default="numpy")
    parser.add_argument("--steps", type=int, default=800, help="words to learn from")
    parser.add_argument("--seed", type=int, default=0, help="same number, same result")
    given = parser.parse_args()

    training = Training(given.engine, given.seed)
    source = random.Random(given.seed)
    print(f"{len(training.parameters)} parameters, {len(WORDS)} words, engine {given.engine}")
    order, losses, started = [], [], time.perf_counter()
    for k in range(given.steps):
        if not order:
            order = source.sample(WORDS, len(WORDS))
        losses.append(training.step(encode(order.pop()), lr=0.01 * (1 - k / given.steps)))
        if (k + 1) % max(1, given.steps // 10) == 0:
            recent = losses[-len(WORDS) :]
            seconds = time.perf_counter() - started
            print(f"step {k + 1:5}  loss {sum(recent) / len(recent):.4f}  {seconds:6.1f} s")
    print("new words:", *[sample(training.weights, source) for _ in range(12)])


if __name__ == "__main__":
    main()
