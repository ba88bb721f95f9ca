# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Migen's simulator with its statements compiled to Python: several times as fast, same results.

Migen walks the tree of a statement each time it executes the statement. This module makes each list
of statements into a Python function before the simulation. An expression for which it has no rule
is left to Migen's evaluator.
"""

from migen.fhdl.bitcontainer import value_bits_sign
from migen.fhdl.structure import (
    Case,
    Cat,
    Constant,
    If,
    Replicate,
    Signal,
    _ArrayProxy,
    _Assign,
    _Operator,
    _Slice,
)
from migen.sim import core

INFIX = {">>>": ">>", "<<<": "<<", **{op: op for op in "+ - * & ^ | < <= == != > >=".split()}}


def _ones(bits):
    return (1 << bits) - 1


class Compiler:
    """Makes Python source for a list of Migen statements.

    In the source, `v` has the values of signals by number (duid), and `m` the values after this
    step. `constants` are the objects that the source refers to by name.
    """

    def __init__(self, evaluator):
        self.values = evaluator.signal_values
        self.constants = {"evaluator": evaluator}
        self.lines = []
        self.temporaries = 0

    def _name(self, thing):
        name = f"c{len(self.constants)}"
        self.constants[name] = thing
        return name

    def _temporary(self):
        self.temporaries += 1
        return f"t{self.temporaries}"

    def _signal(self, signal, ahead):
        number = signal.duid
        if self.values[number] is None:
            self.values[number] = signal.reset.value
        return f"m.get({number}, v[{number}])" if ahead else f"v[{number}]"

    # Expressions ----------------------------------------------------------------------------------

    def expression(self, node, ahead=False):
        """Return the Python source of a Migen expression.

        With `ahead` the source uses the values that this step has assigned so far.
        """
        if isinstance(node, Constant):
            return f"({node.value})"
        if isinstance(node, Signal):
            return self._signal(node, ahead)
        if isinstance(node, _Operator):
            return self._operator(node, ahead)
        if isinstance(node, _Slice):
            inner = self.expression(node.value, ahead)
            return f"({inner} >> {node.start} & {_ones(node.stop - node.start)})"
        if isinstance(node, Cat):
            return self._joined([(each, len(each)) for each in node.l], ahead)
        if isinstance(node, Replicate):
            return self._joined([(node.v, len(node.v))] * node.n, ahead)
        if isinstance(node, _ArrayProxy) and all(type(each) is Signal for each in node.choices):
            return f"v[{self._place(node)}]" if not ahead else self._left(node, ahead)
        return self._left(node, ahead)

    def _left(self, node, ahead):
        return f"evaluator.eval({self._name(node)}, {ahead})"

    def _operator(self, node, ahead):
        operands = [self.expression(each, ahead) for each in node.operands]
        if node.op == "m":
            return f"({operands[1]} if {operands[0]} else {operands[2]})"
        if len(operands) == 1:
            return f"({node.op}{operands[0]})"
        return f"({operands[0]} {INFIX[node.op]} {operands[1]})"

    def _joined(self, parts, ahead):
        terms, at = [], 0
        for part, bits in parts:
            terms.append(f"({self.expression(part, ahead)} & {_ones(bits)}) << {at}")
            at += bits
        return "(" + " | ".join(f"({term})" for term in terms) + ")" if terms else "(0)"

    def _place(self, node):
        """Return Python source that gives the number (duid) of the signal that a Migen array
        selects.
        """
        for signal in node.choices:
            self._signal(signal, False)
        numbers = self._name([signal.duid for signal in node.choices])
        return f"{numbers}[min({len(node.choices) - 1}, {self.expression(node.key)})]"

    # Statements -----------------------------------------------------------------------------------

    def emit(self, depth, text):
        """Add a line to the generated Python source, at an indentation of `depth` levels."""
        self.lines.append("    " * depth + text)

    def assign(self, depth, node, value):
        """Add Python source to the evaluator that assigns the Python expression `value` to a Migen
        node.
        """
        if type(node) is Signal and not node.signed:
            self._signal(node, False)
            self.emit(depth, f"m[{node.duid}] = {value} & {_ones(node.nbits)}")
        elif isinstance(node, _Slice) and type(node.value) is Signal and not node.value.signed:
            number, bits = node.value.duid, _ones(node.stop - node.start)
            kept = _ones(node.value.nbits) & ~(bits << node.start)
            self.emit(
                depth,
                f"m[{number}] = {self._signal(node.value, True)} & {kept} | "
                f"({value} & {bits}) << {node.start}",
            )
        elif isinstance(node, Cat):
            whole = self._temporary()
            self.emit(depth, f"{whole} = {value}")
            for element in node.l:
                self.assign(depth, element, f"({whole} & {_ones(len(element))})")
                self.emit(depth, f"{whole} >>= {len(element)}")
        elif isinstance(node, _ArrayProxy) and self._alike(node.choices):
            bits = _ones(node.choices[0].nbits)
            self.emit(depth, f"m[{self._place(node)}] = {value} & {bits}")
        else:
            self.emit(depth, f"evaluator.assign({self._name(node)}, {value})")

    @staticmethod
    def _alike(choices):
        return all(
            type(each) is Signal and not each.signed and each.nbits == choices[0].nbits
            for each in choices
        )

    def block(self, depth, statements):
        """Add to the evaluator the Python source of a block of Migen statements, which may be
        empty.
        """
        self.emit(depth, "pass")
        for statement in statements:
            self.statement(depth, statement)

    def statement(self, depth, statement):
        """Add to the evaluator the Python source of one Migen statement."""
        if isinstance(statement, _Assign):
            self.assign(depth, statement.l, self.expression(statement.r))
        elif isinstance(statement, If):
            condition = self.expression(statement.cond)
            self.emit(depth, f"if {condition} & {_ones(len(statement.cond))}:")
            self.block(depth + 1, statement.t)
            if statement.f:
                self.emit(depth, "else:")
                self.block(depth + 1, statement.f)
        elif isinstance(statement, Case):
            self.case(depth, statement)
        elif isinstance(statement, (list, tuple)):
            self.block(depth, statement)
        else:
            self.emit(depth, f"core.Evaluator.execute(evaluator, [{self._name(statement)}])")

    def case(self, depth, statement):
        """Add to the evaluator the Python source of a Migen Case: a chain of comparisons."""
        bits, signed = value_bits_sign(statement.test)
        test = self._temporary()
        self.emit(
            depth, f"{test} = core._truncate({self.expression(statement.test)}, {bits}, {signed})"
        )
        word = "if"
        for key, body in statement.cases.items():
            if isinstance(key, Constant):
                self.emit(depth, f"{word} {test} == {key.value}:")
                self.block(depth + 1, body)
                word = "elif"
        if "default" in statement.cases:
            self.emit(depth, "else:" if word == "elif" else "if True:")
            self.block(depth + 1, statement.cases["default"])

    def function(self, statements):
        """Return a Python function that executes the statements.

        Its arguments are the signals' values and their modifications.
        """
        self.emit(0, "def step(v, m):")
        self.block(1, statements)
        scope = {"core": core, **self.constants}
        exec("\n".join(self.lines), scope)  # noqa: S102 -- source of our own making
        return scope["step"]


class CompiledEvaluator(core.Evaluator):
    """Migen's evaluator, which executes a fragment's statements by compiled functions.

    The statements of a generator are executed as Migen does it.
    """

    def __init__(self, fragment, *arguments):
        super().__init__(*arguments)
        lists = [fragment.comb, *fragment.sync.values()]
        self.steps = {id(each): Compiler(self).function(each) for each in lists}

    def execute(self, statements):
        """Execute Migen statements: by their compiled function if it exists, otherwise as Migen
        does.
        """
        step = self.steps.get(id(statements))
        if step:
            step(self.signal_values, self.modifications)
        else:
            super().execute(statements)


class CompiledSimulator(core.Simulator):
    """The Simulator of migen.sim with the compiled evaluator."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        plain = self.evaluator
        self.evaluator = CompiledEvaluator(
            self.fragment, plain.clock_domains, plain.replaced_memories
        )


def run_simulation(*arguments, **options):
    """Run a simulation like migen.sim's run_simulation(), with the compiled evaluator."""
    with CompiledSimulator(*arguments, **options) as simulator:
        simulator.run()
