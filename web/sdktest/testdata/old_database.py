# old_database.py DATABASE SCHEMA ROWS MADE_AT: makes a database file of the old version from SQL
# text, as if it had been made an hour ago instead of at MADE_AT, in Unix milliseconds. Times of
# up to a year around MADE_AT are moved.
import sqlite3, sys, time

path, schema, rows, made_at = sys.argv[1], open(sys.argv[2]).read(), open(sys.argv[3]).read(), int(sys.argv[4])
year = 365 * 86_400_000
c = sqlite3.connect(path, isolation_level=None)
c.execute("PRAGMA auto_vacuum = incremental")
c.executescript("BEGIN;" + schema + rows + "COMMIT;")
later = int(time.time() * 1000) - 3_600_000 - made_at
for (table,) in c.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").fetchall():
    for (column,) in c.execute("SELECT name FROM pragma_table_info(?) WHERE type = 'INTEGER'", (table,)).fetchall():
        c.execute(f"UPDATE {table} SET {column} = {column} + ? WHERE abs({column} - ?) < ?", (later, made_at, year))
c.execute("UPDATE units SET signature = NULL")  # it signs a Date
