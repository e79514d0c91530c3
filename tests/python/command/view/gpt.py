"""A small GPT on letters, with mica.nn."""

import mica
from mica import nn, optim

TEXT = "the quick brown fox jumps over the lazy dog. " * 12
LENGTH, SIZE, HEADS, LAYERS, BATCH = 32, 64, 4, 2, 8
letters = sorted(set(TEXT))
codes = [letters.index(letter) for letter in TEXT]
starts = range(0, 17 * BATCH, 17)
inputs = mica.tensor([codes[i : i + LENGTH] for i in starts], dtype="i32")
targets = mica.tensor([codes[i + 1 : i + LENGTH + 1] for i in starts], dtype="i32")


class Block(nn.Module):
    """Attention and a multilayer perceptron, each added to what it was given."""

    def __init__(self):
        self.before = nn.LayerNorm(SIZE)
        self.attention = nn.MultiHeadAttention(SIZE, HEADS)
        self.between = nn.LayerNorm(SIZE)
        self.wider = nn.Linear(SIZE, 4 * SIZE)
        self.narrower = nn.Linear(4 * SIZE, SIZE)

    def __call__(self, x):
        x = x + self.attention(self.before(x), causal=True)
        return x + self.narrower(mica.gelu(self.wider(self.between(x))))


class GPT(nn.Module):
    """Letters in, scores of the next letter out."""

    def __init__(self):
        self.letters = nn.Embedding(len(letters), SIZE)
        self.places = nn.Embedding(LENGTH, SIZE)
        self.blocks = [Block() for _ in range(LAYERS)]
        self.norm = nn.LayerNorm(SIZE)
        self.scores = nn.Linear(SIZE, len(letters))

    def __call__(self, x):
        x = self.letters(x) + self.places(mica.arange(LENGTH, dtype="i32"))
        for block in self.blocks:
            x = block(x)
        return self.scores(self.norm(x))


model = GPT()
optimizer = optim.adamw(3e-3)


def loss_of(parameters, inputs, targets):
    scores = model.bind(parameters)(inputs)
    return nn.losses.softmax_cross_entropy(scores, targets)


@mica.jit
def step(parameters, state, inputs, targets):
    loss, gradients = mica.value_and_grad(loss_of)(parameters, inputs, targets)
    parameters, state = optimizer.update(gradients, state, parameters)
    return parameters, state, loss


parameters = model.parameters()
state = optimizer.init(parameters)
for _ in range(12):
    parameters, state, loss = step(parameters, state, inputs, targets)
assert float(loss) < 3
