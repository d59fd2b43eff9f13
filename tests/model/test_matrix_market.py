"""Matrix Market files: what is right is read as other programs read it, what is wrong is told with its line."""

import bz2
import gzip
import io
from contextlib import suppress

import numpy as np
import pytest
from scipy.io import mmread, mmwrite
from scipy.sparse import coo_array

from pliant.errors import ModelError
from pliant.model.readers.finite_elements import finite_elements
from pliant.model.readers.matrix_market import MatrixFileError, read_matrix

HEAD = "%%MatrixMarket matrix coordinate real general\n"
SYMMETRIC = HEAD.replace("general", "symmetric")
SMALL = np.array([[4.0, -1.0, 0.0], [-1.0, 3.0, 0.5], [0.0, 0.5, 2.0]])


def read(tmp_path, text):
    path = tmp_path / "k.mtx"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_matrix(path).toarray()


@pytest.mark.parametrize("symmetry", ["general", "symmetric", "AUTO"])
@pytest.mark.parametrize("kind", [np.asarray, coo_array], ids=["array", "coordinate"])
@pytest.mark.parametrize("field", ["real", "integer", "complex"])
def test_what_other_programs_write(tmp_path, symmetry, kind, field):
    matrix = SMALL * 2 if field == "integer" else SMALL
    stream = io.BytesIO()
    mmwrite(stream, kind(matrix.astype(int) if field == "integer" else matrix), field=field, symmetry=symmetry)
    assert np.array_equal(read(tmp_path, stream.getvalue()), matrix)


def test_rectangles_are_column_by_column(tmp_path):
    stream = io.BytesIO()
    mmwrite(stream, SMALL[:2])
    assert np.array_equal(read(tmp_path, stream.getvalue()), SMALL[:2])


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress])
def test_packed_files(tmp_path, pack):
    assert read(tmp_path, pack(f"{HEAD}2 2 1\n2 1 3".encode()))[1, 0] == 3.0
    with pytest.raises(MatrixFileError, match="cannot be read"):
        read(tmp_path, pack(b"x" * 100)[:-9])


@pytest.mark.parametrize("end", ["", "\n", "\n\n  \n", "\r\n"])
@pytest.mark.parametrize("number", ["1.5D+03", "1.5d3", "1.5E3", "0.15e4", "1500", "+1500.", "0.0015+006", "15000-001"])
def test_numbers_of_fortran(tmp_path, number, end):
    lines = [HEAD.strip(), "% a comment", "", "2 2 2", f"1 1 {number}", f"  2\t2   {number}"]
    for newline in ("\n", "\r\n"):
        found = read(tmp_path, newline.join(lines) + end)
        assert found[0, 0] == found[1, 1] == pytest.approx(1500.0, rel=1e-15)


def test_random_matrices_are_those_of_scipy(tmp_path):
    rng = np.random.default_rng(3)
    for _ in range(20):
        n, count = int(rng.integers(1, 30)), int(rng.integers(0, 60))
        places = rng.integers(0, n, (2, count))
        if rng.random() < 0.5:
            places = np.sort(places, axis=0)[::-1]
        mmwrite(tmp_path / "a.mtx", coo_array((rng.normal(size=count), tuple(places)), shape=(n, n)), precision=17)
        other = mmread(tmp_path / "a.mtx", spmatrix=False).toarray()
        assert np.allclose(read_matrix(tmp_path / "a.mtx").toarray(), other, rtol=1e-14, atol=1e-14)


WRONG = {
    "empty": ("", "is no Matrix Market file"),
    "text": ("hello\nworld\n", "it begins with 'hello'"),
    "binary": (bytes(range(256)) * 10, "is no Matrix Market file"),
    "head": ("%%MatrixMarket matrix\n", "in line 1; it must be %%MatrixMarket matrix FORMAT FIELD SYMMETRY"),
    "vector": ("%%MatrixMarket vector array real general\n1 1\n1\n", "in line 1"),
    "pattern": (HEAD.replace("real", "pattern") + "1 1 1\n1 1\n", "field 'pattern' in line 1"),
    "skew": (HEAD.replace("general", "skew-symmetric") + "1 1 1\n1 1 0\n", "symmetry 'skew-symmetric' in line 1"),
    "no sizes": (HEAD + "% only comments\n", "has '' in line 3; it must be the numbers of rows, columns and entries"),
    "sizes": (HEAD + "2 2\n1 1 1\n", "has '2 2' in line 2"),
    "negative size": (HEAD + "2 -2 1\n1 1 1\n", "in line 2"),
    "endless size": (HEAD + "9" * 400 + " 2 1\n1 1 1\n", "in line 2"),
    "1e12 entries": (HEAD + "3 3 1000000000000\n1 1 1.0\n", "has 1 entries; by its head there must be 1000000000000"),
    "1e12 rows": (HEAD + "1000000000000 1000000000000 1\n1 1 1.0\n", "at most 20000000 rows"),
    "large array": (HEAD.replace("coordinate", "array") + "9999999 9999999\n1\n", "has 1 entries"),
    "too many": (HEAD + "2 2 1\n1 1 1\n2 2 1\n", "has 2 entries; by its head there must be 1"),
    "too few": (HEAD + "2 2 3\n1 1 1\n2 2 1\n", "has 2 entries; by its head there must be 3"),
    "no entries": (HEAD + "2 2 3\n", "has 0 entries"),
    "a word": (HEAD + "2 2 2\n1 1 1\n\n2 2 one\n", "has '2 2 one' in line 5; it must be 3 numbers"),
    "nan": (HEAD + "2 2 2\n1 1 1\n2 2 nan\n", "has '2 2 nan' in line 4"),
    "two numbers": (HEAD + "2 2 2\n1 1 1\n2 2\n", "has '2 2' in line 4"),
    "shifted": (HEAD + "2 2 2\n1 1 1 2\n2 1\n", "has '1 1 1 2' in line 3"),
    "a comment inside": (HEAD + "1 1 1\n% no\n1 1 1\n", "has '% no' in line 3"),
    "torn number": (HEAD + "2 2 2\n1 1 1\n2 2 1.5E+", r"has '2 2 1.5E+' in line 4"),
    "row 0": (HEAD + "2 2 1\n0 1 1\n", "has the entry '0 1 1' in line 3; rows are counted from 1 to 2"),
    "row 3": (HEAD + "% x\n2 2 2\n1 1 1\n\n3 1 1\n", "has the entry '3 1 1' in line 6"),
    "row 1.5": (HEAD + "2 2 1\n1.5 1 1\n", "'1.5 1 1' in line 3"),
    "row 1e300": (HEAD + "2 2 1\n1e300 1 1\n", "'1e300 1 1' in line 3"),
    "complex": (HEAD.replace("real", "complex") + "2 2 2\n1 1 1 0\n2 2 1 3\n", "complex entry '2 2 1 3' in line 4"),
    "both triangles": (
        SYMMETRIC + "2 2 4\n1 1 2\n2 1 -1\n1 2 -1\n2 2 2\n",
        "says 'symmetric' and has both triangles: entry (2, 1) and '1 2 -1' in line 5",
    ),
    "symmetric rectangle": (SYMMETRIC + "2 3 1\n1 1 2\n", "a symmetric matrix is square"),
    "symmetric array, whole": (
        SYMMETRIC.replace("coordinate", "array") + "2 2\n2\n-1\n-1\n2\n",
        "has 4 entries; by its head there must be 3",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_files_are_told_with_their_line(tmp_path, case):
    text, message = WRONG[case]
    with pytest.raises(MatrixFileError) as error:
        read(tmp_path, text)
    assert message in str(error.value)


def test_upper_triangles_and_sums(tmp_path):
    assert np.array_equal(read(tmp_path, SYMMETRIC + "2 2 2\n1 2 -1\n2 2 4\n"), [[0, -1], [-1, 4]])
    # each triangle has entries of its own
    mixed = read(tmp_path, SYMMETRIC + "3 3 3\n1 2 -1\n3 2 5\n2 2 4\n")
    assert np.array_equal(mixed, [[0, -1, 0], [-1, 4, 5], [0, 5, 0]])
    assert read(tmp_path, HEAD + "1 1 3\n1 1 1\n1 1 2\n1 1 4\n")[0, 0] == 7.0


def test_matrices_of_programs_have_no_imaginary_part():
    K = np.eye(6) * (1 + 0.02j)
    with pytest.raises(ModelError, match="stiffness: has complex entries"):
        finite_elements(K, np.eye(6), np.zeros((2, 3)))


def test_every_cut_of_a_file_is_read_or_told(tmp_path):
    text = SYMMETRIC.encode() + b"% made by hand\n3 3 4\n1 1 4.0D+00\n2 1 -1\n2 2 3\n3 3 2.5+000\n"
    for end in range(len(text)):
        with suppress(MatrixFileError):
            assert read(tmp_path, text[:end]).shape == (3, 3)
