"""Random NNEF documents: legal ones, and ones with a word deleted, doubled, moved or replaced."""

from __future__ import annotations

import random
import re

EXTENSIONS = "extension KHR_enable_fragment_definitions;\nextension KHR_enable_operator_expressions;\n"
UNARY = ("neg", "exp", "abs", "relu", "sigmoid", "tanh", "sqr", "floor", "softplus", "copy")
BINARY = ("add", "sub", "mul", "div", "min", "max", "pow")
WORDS = (
    *"()[]{},;=:<>?+-*/^!",
    "->",
    "&&",
    "||",
    "==",
    "<=",
    "true",
    "1",
    "-1",
    "2.5",
    "'a'",
    "x",
    "y",
    "relu",
    "conv",
    "axes",
    "shape",
    "integer",
    "scalar",
    "tensor",
    "<scalar>",
    "<?>",
    "if",
    "else",
    "for",
    "in",
    "yield",
    "length_of",
    "fragment",
    "graph",
    "[]",
    "(1, 2)",
    "external",
    "variable",
    "update",
    "nothing",
)


class Writer:
    """One legal document. All tensors of its graph have the shape [2, 4] and are scalars."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.names = ["x"]
        self.fragments: list[tuple[str, str, str]] = []  # text, name, how to call it

    def text(self, compositional: bool) -> str:
        fragments = [self.fragment(i) for i in range(self.rng.randint(1, 3))] if compositional else []
        lines = ["x = external<scalar>(shape = [2, 4]);"]
        lines += [self.statement(i, compositional) for i in range(self.rng.randint(2, 7))]
        results = ", ".join(sorted(set(self.rng.choices([name for name in self.names if name != "x"], k=2))))
        head = "version 1.0;\n" + (EXTENSIONS if compositional else "")
        body = "".join(f"    {line}\n" for line in lines)
        return head + "\n".join([*fragments, f"graph g( x ) -> ( {results} )\n{{\n{body}}}\n"])

    def tensor(self) -> str:
        return self.rng.choice([*self.names, *self.names, "1.5", "-2.0"])

    def new(self, stem: str) -> str:
        self.names.append(f"{stem}{len(self.names)}")
        return self.names[-1]

    def statement(self, number: int, compositional: bool) -> str:
        kind = self.rng.randrange(9 if compositional else 6)
        source = self.rng.choice(self.names)
        if kind == 0:
            call = f"{self.rng.choice(UNARY)}({source})"
        elif kind == 1:
            call = f"{self.rng.choice(BINARY)}({source}, {self.tensor()})"
        elif kind == 2:
            call = f"variable(shape = [2, 4], label = 'w{number}')"
        elif kind == 3:
            call = self.rng.choice(
                [
                    f"softmax({source}, axes = [{self.rng.randrange(2)}])",
                    f"clamp({source}, 0.0, {self.rng.randint(1, 6)}.0)",
                    f"reshape({source}, shape = [{self.rng.choice(['0, -1', '2, 4', '-1, 4'])}])",
                    f"pad({source}, padding = [(0, 0), (0, 0)])",
                    f"transpose({source}, axes = [0, 1])",
                    "constant(shape = [2, 4], value = [0.5])",
                    f"select(true, {source}, 0.0)",
                ]
            )
        elif kind == 4:
            parts = [f"p{number}", f"q{number}"]
            self.names += parts
            both = f"c{number} = concat([{source}, x], axis = 0);"
            return f"{both} [{', '.join(parts)}] = split(c{number}, axis = 0, ratios = [1, 1]);"
        elif kind == 5:
            return f"{self.new('m')}, {self.new('v')} = moments({source}, axes = []);"
        elif kind == 6:
            call = f"{source} {self.rng.choice('+-*/^')} {self.tensor()} {self.rng.choice('+-')} ({source})"
        elif kind == 7:
            call = self.rng.choice(
                [
                    f"-{source}",
                    f"relu(-{source} * 2.0)",
                    f"{source} if 1 < 2 else {source}",
                    f"add_n([{source}, x, 2.0])",
                ]
            )
        else:
            call = self.rng.choice(self.fragments)[2].format(source)
        return f"{self.new('t')} = {call};"

    def fragment(self, number: int) -> str:
        name = f"f{number}"
        n = self.rng.randint(0, 3)
        attribute, value = self.rng.choice(
            [
                ("n: integer = 1", f"scalar(n + {n})"),
                ("s: scalar", "s * 2.0"),
                ("k: integer[] = [1, 2]", f"scalar(k[{n % 2}] + length_of(k))"),
                ("f: logical", "1.0 if f && true else 2.0"),
                ("w: string = 'a'", "1.0 if w == 'a' else 0.0"),
                ("p: (integer,scalar)[]", "scalar(length_of([for q in p if q[0] > 0 yield q[1]]))"),
            ]
        )
        given = {
            "n": f"n = {n}",
            "s": "s = 0.5",
            "k": "k = [3, 4, 5]",
            "f": "f = true",
            "w": "w = 'b'",
            "p": "p = [(1, 2.0), (0, 1.5)]",
        }[attribute[0]]
        optional = "=" in attribute
        call = f"{name}({{0}})" if optional and self.rng.random() < 0.5 else f"{name}({{0}}, {given})"
        body = self.rng.choice(
            [
                f"b = a * ({value});",
                f"c = a + {value}; b = relu(c);",
                f"b = add_n([for i in [1, 2] yield a]) - {value};",
                f"c, d = moments(a, axes = []); b = c + d * ({value});",
                f"b = {value} * select(a > 0.0, a, 0.0);",
            ]
        )
        text = f"fragment {name}( a: tensor<scalar>, {attribute} ) -> ( b: tensor<scalar> ) {{ {body} }}"
        self.fragments.append((text, name, call))
        return text


def tokens(text: str) -> list[str]:
    return re.findall(r"'[^']*'|->|&&|\|\||[<>=!]=|[A-Za-z_]\w*|\d+(?:\.\d*)?|\s+|.", text)


def broken(text: str, rng: random.Random) -> str:
    """One word deleted, doubled, exchanged with another, or replaced."""
    words = tokens(text)
    places = [i for i, word in enumerate(words) if not word.isspace()]
    at, other = rng.choice(places), rng.choice(places)
    kind = rng.randrange(4)
    if kind == 0:
        words[at] = ""
    elif kind == 1:
        words[at] += " " + words[at]
    elif kind == 2:
        words[at], words[other] = words[other], words[at]
    else:
        words[at] = rng.choice(WORDS)
    return "".join(words)


def documents(count: int, seed: int = 0) -> list[str]:
    """`count` documents, every second one broken."""
    found = []
    for i in range(count):
        text = Writer(seed + i // 2).text(compositional=i // 2 % 3 > 0)
        found.append(broken(text, random.Random(seed + i)) if i % 2 else text)
    return found
