"""Files: features and labels in (csv, tsv, parquet, npz, npy, mat), labels out (csv, tsv, parquet)."""

from coterie.io._read import read_features, read_labels, read_table
from coterie.io._table import DataError, Table
from coterie.io._write import check_writable, write_table

__all__ = [
    "DataError",
    "Table",
    "check_writable",
    "read_features",
    "read_labels",
    "read_table",
    "write_table",
]
