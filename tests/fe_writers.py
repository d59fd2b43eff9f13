"""Small files as finite-element programs write them, for their readers."""

import numpy as np


def lower(A):
    """Entries of the lower triangle: rows, columns, values."""
    coo = A.tocoo()
    own = coo.row >= coo.col
    return coo.row[own], coo.col[own], coo.data[own]


def deck(path, mesh, labels, sets, *, extra=""):
    """An input deck of Abaqus or CalculiX with C3D10 elements on two lines each."""
    lines = ["*HEADING", "a link", "** comment", "*NODE, NSET=ALL"]
    lines += [f"{label}, {x[0]:.17g}, {x[1]:.17g}, {x[2]:.17g}" for label, x in zip(labels, mesh.nodes, strict=True)]
    lines.append("*Element, type=C3D10, elset=BODY")
    for k, row in enumerate(mesh.tets, 1):
        names = [str(labels[n]) for n in row]
        lines += [f"{k}, {', '.join(names[:7])},", ", ".join(names[7:])]
    for name, nodes in sets.items():
        lines += [f"*NSET, NSET={name}", ", ".join(str(labels[n]) for n in nodes)]
    path.write_text("\n".join([*lines, extra, ""]))


def abaqus(path, A, labels):
    """A .mtx file of *MATRIX GENERATE, lower triangle."""
    rows, columns, values = lower(A)
    path.write_text(
        "".join(
            f"{labels[r // 3]},{r % 3 + 1}, {labels[c // 3]},{c % 3 + 1}, {v:.16e}\n"
            for r, c, v in zip(rows, columns, values, strict=True)
        )
    )


def calculix(path, A, order):
    """A .sti or .mas file, whose unknowns stand in some order."""
    place = np.argsort(order)
    rows, columns, values = lower(A)
    path.write_text(
        "".join(f"{place[r] + 1} {place[c] + 1} {v:20.13e}\n" for r, c, v in zip(rows, columns, values, strict=True))
    )


def dofs(path, labels, order):
    path.write_text("".join(f"{labels[k // 3]}.{k % 3 + 1}\n" for k in order))


def op4(path, A, *, sparse=False):
    """A text OUTPUT4 file, dense or with strings of values."""
    dense = A.toarray()
    n = len(dense)
    lines = [f"{n:8d}{n:8d}{6:8d}{2:8d}KAA     1P,5E16.9"]

    def values(column):
        words = [f"{v:16.9E}" for v in column]
        return ["".join(words[k : k + 5]) for k in range(0, len(words), 5)]

    for c in range(n):
        rows = np.flatnonzero(dense[:, c])
        if sparse:
            runs = np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1)
            lines.append(f"{c + 1:8d}{0:8d}{sum(1 + 2 * len(run) for run in runs):8d}")
            for run in runs:
                lines += [f"{65536 * (2 * len(run) + 1) + run[0] + 1:12d}", *values(dense[run, c])]
        else:
            first, last = rows[0], rows[-1] + 1
            lines += [f"{c + 1:8d}{first + 1:8d}{last - first:8d}", *values(dense[first:last, c])]
    lines += [f"{n + 1:8d}{1:8d}{1:8d}", f"{1.0:16.9E}"]
    path.write_text("\n".join(lines) + "\n")


def bulk(path, mesh, labels):
    """Bulk data in free and fixed fields."""
    lines = ["$ a link", "BEGIN BULK"]
    for k, (label, x) in enumerate(zip(labels, mesh.nodes, strict=True)):
        words = [f"{v:.9g}" for v in x]
        words = [w if "." in w or "e" in w else w + "." for w in words]
        lines.append(
            f"GRID,{label},,{','.join(words)}"
            if k % 2
            else f"GRID*   {label:<16d}{'':16s}{x[0]:<16.9g}{x[1]:<16.9g}*\n*       {x[2]:<16.9g}"
        )
    for k, row in enumerate(mesh.tets, 1):
        names = [str(labels[n]) for n in row]
        lines += [f"CTETRA,{k},1,{','.join(names[:6])}", f"+,{','.join(names[6:])}"]
    path.write_text("\n".join([*lines, "ENDDATA", ""]))
