# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of lanebox_host/array.py: an array in a DMA ring has a lease, which ends with its stream.
Until then the array works. Afterwards most uses of it raise ValueError.
"""

import copy
import gc

import numpy as np
import pytest


@pytest.fixture
def term(host):
    from lanebox_host.array import Lease

    return Lease("c2h")


@pytest.fixture
def array(term):
    from lanebox_host.array import lease

    return lease(np.arange(12, dtype=np.int32), term)


USES = {
    "index": lambda array: array[0],
    "slice": lambda array: array[2:4],
    "assignment": lambda array: array.__setitem__(0, 1),
    "length": len,
    "loop": list,
    "search": lambda array: 3 in array,
    "text": str,
    "representation": repr,
    "attribute": lambda array: array.shape,
    "method": lambda array: array.sum(),
    "copy": lambda array: array.copy(),
    "view": lambda array: array.view(np.uint8),
    "operator": lambda array: array + 1,
    "operator from the right": lambda array: 1 + array,
    "comparison": lambda array: array == 1,
    "operator in place": lambda array: array.__iadd__(1),
    "function": np.sum,
    "function of a list": lambda array: np.concatenate([array, array]),
    "function with a keyword": lambda array: np.sum(a=array),
    "result of a function": lambda array: np.add(np.ones(12), 1, out=array),
}


@pytest.mark.parametrize("name", USES)
def test_each_use_is_possible_until_the_end(array, term, name):
    """Each use in USES of a leased array, and of a slice of it, works before the end of its lease.
    After the end it raises ValueError. The sentence names the DMA direction and advises copy()."""
    part, use = array[:], USES[name]
    if name == "result of a function":
        array, part = array.view(np.float32), part.view(np.float32)
        use = lambda array: np.add(np.ones(12, np.float32), 1, out=array)  # noqa: E731
    use(array), use(part)
    term.end()
    for ended in (array, part):
        with pytest.raises(ValueError, match=r"a ring of c2h whose stream has ended: copy\(\)"):
            use(ended)


def test_views_share_the_lease_and_results_have_none(array, term):
    """Slices and other views of a leased array are leased, too. The results of copy(), and of
    computations in new memory, are plain arrays, which can be used after the end of the lease."""
    views = [array[2:5], array.view(np.uint8), array.reshape(3, 4), array[2:5][1:], array.T]
    plain = [array.copy(), array[2:5].copy(), array + 1, np.concatenate([array, array])]
    plain += [np.sqrt(array), np.add(array, 1), array.copy(order="F")]
    assert all(type(view) is type(array) for view in views)
    assert all(type(copy) is np.ndarray for copy in plain)
    term.end()
    for view in views:
        with pytest.raises(ValueError, match="has ended"):
            view[0]
    assert plain[0].tolist() == list(range(12)) and plain[2][0] == 1


OWN = {
    "astype": lambda array: array.astype(np.float64),
    "flatten": lambda array: array.flatten(),
    "take": lambda array: array.take([1, 2]),
    "repeat": lambda array: array.repeat(2),
    "compress": lambda array: array.compress([True, False, True]),
    "cumsum": lambda array: array.cumsum(),
    "argsort": lambda array: array.argsort(),
    "nonzero": lambda array: array.nonzero()[0],
    "ravel in another order": lambda array: array.reshape(3, 4).ravel(order="F"),
    "reshape in another order": lambda array: array.reshape(3, 4).T.reshape(12),
    "indexes of a list": lambda array: array[[3, 1]],
    "indexes of an array with a lease": lambda array: array[array[:3]],
    "mask": lambda array: array[array > 3],
    "indexes of columns": lambda array: array.reshape(3, 4)[:, [0, 2]],
    "copy.copy": copy.copy,
    "copy.deepcopy": copy.deepcopy,
}


@pytest.mark.parametrize("name", OWN)
def test_what_owns_its_memory_is_plain(array, term, name):
    """Each result in OWN has memory of its own, so it is a plain array that can be used after the
    end of the lease. After the end of the lease the same use of the leased array raises ValueError.
    """
    own = OWN[name](array)
    assert type(own) is np.ndarray and not np.shares_memory(own, array)
    wanted = OWN[name](np.arange(12, dtype=np.int32))
    term.end()
    assert own.dtype == wanted.dtype and own.tolist() == wanted.tolist()
    with pytest.raises(ValueError, match="has ended"):
        OWN[name](array)


def test_methods_and_indexes_that_share_memory_share_the_lease(array, term):
    """Results of methods and indexes are leased if they lie in the array's memory, even if other
    results of the same method have memory of their own. With `out` the method take() writes to the
    array that is given.
    """
    grid, target = array.reshape(3, 4), np.empty(2, np.int32)
    views = [grid.ravel(), grid[0], grid[None], grid[..., 1], array.astype(np.int32, copy=False)]
    assert all(type(view) is type(array) and np.shares_memory(view, array) for view in views)
    array.take([3, 4], out=target)
    array.take([5, 6], out=array[:2])
    assert target.tolist() == [3, 4] and array[:2].tolist() == [5, 6]
    assert array.take(1) == 6 and array[1] == 6
    term.end()
    for view in views:
        with pytest.raises(ValueError, match="has ended"):
            view[0]


def test_a_result_is_written_into_the_leased_array(array, term):
    """An array with a lease can be the output of a computation. The result is then in the array's
    memory."""
    below = np.asarray(array)
    np.multiply(array, 2, out=array)
    array += 1
    assert below.tolist() == [2 * number + 1 for number in range(12)]


def test_a_lease_ends_for_its_own_arrays_only(array, term):
    """The end of one lease leaves the arrays of another lease as they are, and two arrays of
    different leases compute with each other until one ends."""
    from lanebox_host.array import Lease, lease

    other = lease(np.ones(12, np.int32), Lease("h2c"))
    assert (array + other).sum() == 78
    term.end()
    assert other.sum() == 12
    with pytest.raises(ValueError, match="a ring of c2h"):
        other + array


def test_an_array_is_freed_without_an_error_after_the_end(array, term, recwarn, capsys):
    """After the end of the lease Python can free an array and find its class. Neither raises an
    exception or prints a warning."""
    copies = [array[1:], array[2:]]
    term.end()
    assert isinstance(array, np.ndarray)
    del array, copies
    gc.collect()
    assert not recwarn.list and not capsys.readouterr().err
