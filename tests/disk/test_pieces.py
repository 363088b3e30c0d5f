import numpy as np
import safetensors.numpy

from teen.disk.manifest import digest, measured
from teen.disk.pieces import DTYPES, pieces


def test_the_library_reads_what_is_written_in_pieces():
    """All types, shapes with nothing or one number in them, other orders in memory, names beyond ASCII."""
    rng = np.random.default_rng(0)
    arrays = {str(dtype): (100 * rng.random((3, 5))).astype(dtype) for dtype in DTYPES}
    arrays |= {"none": np.zeros((2, 0, 3), np.float32), "one": np.array(7, np.int64), "no-ω/0": np.arange(3)}
    arrays |= {"turned": np.arange(12, dtype=np.float32).reshape(3, 4).T, "strided": np.arange(10)[::3]}
    data = b"".join(pieces(arrays))
    read = safetensors.numpy.load(data)
    assert read.keys() == arrays.keys()
    for name, array in arrays.items():
        assert read[name].dtype == array.dtype
        assert read[name].shape == array.shape
        np.testing.assert_array_equal(read[name], array, err_msg=name)
    assert measured(*pieces(arrays)) == (len(data), digest(data))


def test_a_file_of_nothing_is_one():
    assert safetensors.numpy.load(b"".join(pieces({}))) == {}
