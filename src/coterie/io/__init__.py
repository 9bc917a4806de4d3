"""Files: features and labels in (csv, tsv, parquet, npz, npy, mat), labels out (csv, tsv, parquet)."""

from coterie.core.errors import DataError
from coterie.io.read import read_features, read_labels, read_table
from coterie.io.table import FileTable
from coterie.io.write import check_writable, write_table

__all__ = [
    "DataError",
    "FileTable",
    "check_writable",
    "read_features",
    "read_labels",
    "read_table",
    "write_table",
]
