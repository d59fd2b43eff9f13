"""Generated MATLAB as Python: a second way to run it, for the few forms of lines that generated files have."""

import re

HEAD = """
import types
import numpy as np
from numpy import sin, cos, sqrt, tanh, floor, arctan2 as atan2

class Numbers(np.ndarray):
    '''An array whose call is an index that begins with 1.'''
    def __call__(self, *at):
        return self[tuple(slice(x[0] - 1, x[1]) if isinstance(x, tuple) else x - 1 for x in at)]

def numbers(x):
    return np.array(x, dtype=float).view(Numbers)

"""
INDEX = re.compile(r"\b(\w+)\((\d+|j)\)")
ARRAYS = "q v a f h M J parameters saved out dout now after"


def as_python(text):
    """A file of functions whose blocks end with ``end``."""
    out, indent, results = [HEAD], 0, []
    lines = iter(text.splitlines())
    for line in lines:
        line = line.partition("%")[0].rstrip() if "'" not in line.partition("%")[0] else line.rstrip()
        plain = line.strip()
        if not plain:
            continue
        function = re.match(r"function (\w+) = (\w+)\((.*)\)$", plain)
        if function:
            result, name, arguments = function.groups()
            names = [x for x in arguments.split(", ") if x]
            optional = [f"{x}=None" if x == "parameters" else x for x in names]
            out.append(f"def {name}({', '.join(optional)}):")
            out += [
                f"    {x} = numbers({x}) if {x} is not None else None" for x in names if not name.startswith("stumpff")
            ]
            if result == "robot":
                out.append("    robot = types.SimpleNamespace()")
            results.append((result, "function"))
            indent = 1
            continue
        if plain == "end":
            result, kind = results.pop()
            if kind == "function":
                out.append(f"    return {result}")
            indent -= 1
            continue
        if plain.endswith("= ["):
            rows = []
            while (row := next(lines).strip()) != "];":
                rows.append(row.partition("%")[0].strip())
            out.append(f"    {plain[:-1]}numbers([{', '.join(rows)}])")
            continue
        out += [f"{'    ' * indent}{each}" for each in statement(plain.rstrip(";"))]
        if re.match(r"(for|while) ", plain):
            results.append(("", "block"))
            indent += 1
    return "\n".join(out)


def statement(line):
    """One line, which may hold several assignments or a condition with its end."""
    missing = re.match(r"if nargin < \d+, parameters = defaults\(\); end", line)
    if missing:
        return ["parameters = defaults() if parameters is None else parameters"]
    broken = re.match(r"if (.*), break; end", line)
    if broken:
        return [f"if {expression(broken[1])}: break"]
    failed = re.match(r"if (.*), error\((.*)\); end", line)
    if failed:
        return [f"if {expression(failed[1])}: raise ValueError({failed[2].split(',')[0]})"]
    loop = re.match(r"for (\w+) = 1:(\d+)$", line)
    if loop:
        return [f"for {loop[1]} in range(1, {loop[2]} + 1):"]
    while_ = re.match(r"while (.*)$", line)
    if while_:
        return [f"while {expression(while_[1])}:"]
    handle = re.match(r"robot\.(\w+) = @(\w+)$", line)
    if handle:
        return [f"robot.{handle[1]} = {handle[2]}"]
    cells = re.match(r"robot\.(\w+) = \{(.*)\}$", line)
    if cells:
        return [f"robot.{cells[1]} = [{cells[2]}]"]
    rows = re.match(r"robot\.B = \[(.*)\]$", line)
    if rows:
        return [f"robot.B = numbers([[{'], ['.join(', '.join(row.split()) for row in rows[1].split('; '))}]])"]
    column = re.match(r"out\(:, j\) = dout$", line)
    if column:
        return ["out[:, j - 1] = dout"]
    both = re.match(r"(\w+) = \[q; now\((\d+):(\d+)\)\]$", line)
    if both:
        return [f"{both[1]} = np.concatenate([q, now(({both[2]}, {both[3]}))])"]
    out = []
    for part in line.split("; "):
        name, _, value = part.partition(" = ")
        out.append(f"{INDEX.sub(element, name)} = {expression(value)}")
    return out


def element(match):
    return f"{match[1]}[{int(match[2]) - 1}]" if match[2].isdigit() else f"{match[1]}[{match[2]} - 1]"


def expression(text):
    """An expression: indices, shapes and negation."""
    shaped = re.fullmatch(r"reshape\(out, (\d+), (\d+)\)(\.')?", text)
    if shaped:
        rows = f"np.reshape(out, ({shaped[2]}, {shaped[1]}))"
        return rows if shaped[3] else f"{rows}.T"
    zeros = re.fullmatch(r"zeros\((\d+), (\d+)\)", text)
    if zeros:
        shape = f"({zeros[1]}, {zeros[2]})" if zeros[2] != "1" else zeros[1]
        return f"numbers(np.zeros({shape}))"
    text = re.sub(r"\bmax\(abs\((\w+)\((\d+):(\d+)\)\)\)", r"np.abs(\1((\2, \3))).max()", text)
    text = re.sub(r"\b(\w+)\((\d+):(\d+)\)", r"\1((\2, \3))", text)
    text = text.replace("q(:)", "q").replace("&&", "and").replace("~", "not ")
    return INDEX.sub(lambda m: m[0] if m[1].startswith(("stumpff", "step")) else element(m), text)
