"""Reads a Parquet file with one of the programs that are to read it, and compares it with the raw .zgt table.

    read.py READER FILE.parquet TABLE.zgt

READER is a name of readers.txt. The table is read by docs/zgt.py, which has nothing of Ziggurat's code: so every
position must be there once, with the value that is in the table.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "docs"))

import zgt

COLUMNS = ["own", "opponent", "own_scored", "opponent_scored", "value"]


def polars(file):
    import polars

    polars.scan_parquet(file).filter(polars.col("value") > 0.5).collect()
    return polars.read_parquet(file).select(COLUMNS).rows()


def duckdb(file):
    import duckdb

    return duckdb.sql(f"SELECT {', '.join(COLUMNS)} FROM '{file}'").fetchall()


def datafusion(file):
    import datafusion

    context = datafusion.SessionContext()
    context.register_parquet("positions", file)
    context.sql("SELECT count(*) FROM positions WHERE value > 0.5 AND own > 2").collect()
    columns = context.sql(f"SELECT {', '.join(COLUMNS)} FROM positions").to_pydict()
    return list(zip(*(columns[name] for name in COLUMNS)))


def pandas(file, engine="pyarrow"):
    import pandas

    frame = pandas.read_parquet(file, engine=engine)
    signed = {"int64", "int32"}
    assert {str(frame[name].dtype) for name in COLUMNS[:4]} <= signed, frame.dtypes
    return list(frame[COLUMNS].itertuples(index=False, name=None))


def fastparquet(file):
    return pandas(file, engine="fastparquet")


def pyspark(file):
    from pyspark.sql import SparkSession

    quiet = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
    spark = SparkSession.builder.master("local[1]").config(map=quiet).getOrCreate()
    try:
        return [tuple(row) for row in spark.read.parquet(file).select(COLUMNS).collect()]
    finally:
        spark.stop()


def compare(rows, table, file):
    """The number of rows, each of which must be another position and have the value of the table."""
    own, opponent = "-/-".split("/")
    start = (*zgt.side(own), *zgt.side(opponent))
    seen = set()
    for own, opponent, own_scored, opponent_scored, value in rows:
        position = (int(own), int(own_scored), int(opponent), int(opponent_scored))
        assert position not in seen, f"{position} is there twice"
        seen.add(position)
        expected = table.chance(position[:2], position[2:])
        # An f32 is not to the last bit what Python computes from it.
        near = 1e-15 if table.value_type == "f64" else 6e-8
        assert abs(float(value) - expected) <= near, f"{position}: {value}, not {expected}"
    assert len(seen) == table.positions, f"{file} has {len(seen)} of {table.positions} positions"
    assert start in seen
    return len(seen)


def main():
    reader, file, table = sys.argv[1:]
    rows = globals()[reader.split("-")[0]](file)
    print(f"{file}: {compare(rows, zgt.Table(table), file)} positions")


if __name__ == "__main__":
    main()
