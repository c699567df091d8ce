# SPDX-License-Identifier: MIT
"""Damages profiles: the bytes of the database file, and what is in its tables, by SQL."""
import os
import re
import sqlite3
import struct

from elf import extreme, flip

MIB = 1 << 20
NUMBERS = ("0", "1", "-1", "2147483647", "4294967295", "4294967294", "4294967296", "9223372036854775807",
           "-9223372036854775808", "1125899906842624", "281474976710656", "5e-324", "1e308", "-1e308", "9e999", "-9e999",
           "0.5", "1e18", "-0.0", "NULL", "''", "'1'", "x'00'", "x'ffffffff'", "zeroblob(1000)")
MILD = ("0", "1", "2", "3", "1000000", "4294967295", "1125899906842624", "1125899906842623", "5e-324", "1e-300", "1e15", "0.5",
        "1e300")
TEXTS = ("'\x1b]0;x\x07\x1b[2J'", "'</script><script>alert(1)</script>'", "'a\nb\rc\td'", "''", "'%s%n%p'", "'\"\\,;='",
         "'=cmd|''/c calc''!A0'", "CAST(x'fffe80c0' AS TEXT)", "CAST(x'610062' AS TEXT)", "NULL", "x'0102'", "7",
         "'/dev/zero'", "'pipe'", "'large'", "'/proc/self/mem'", "'../../../../etc/passwd'", "'\u202e\u2066x\u200b\ufeff'",
         "'\u0085\u009b2J\x7f'", "'" + "e\u0301" * 500 + "'", "printf('%.*c', 1048576, 'a')", "printf('%.*c', 65536, '<')",
         "printf('%.*c', 300000, char(128512))", "'_Z'||printf('%.*c', 3000, 'P')||'i'", "'waste'", "'reuse'", "'paths'",
         "'interference'")
# Columns that name a row of a table, or of the same one.
REFERENCES = re.compile(r"^(parent|frame|first|second|context|module|process|thread|use|reuse|loop|function|file|block|"
                        r"vertex|path|first_step|steps|first_line|lines|first|name|why|id|site)$")
SCHEMA = ("CREATE TRIGGER t AFTER INSERT ON frame BEGIN DELETE FROM frame; END", "CREATE VIEW v AS SELECT * FROM frame",
          "CREATE INDEX i ON frame(function)", "DROP TABLE {table}", "ALTER TABLE {table} ADD COLUMN extra",
          "ALTER TABLE {table} ADD COLUMN made AS (1+1)", "CREATE TABLE other(a)", "CREATE VIRTUAL TABLE f USING fts5(a)",
          "ALTER TABLE {table} RENAME TO renamed", "CREATE TEMP TABLE {table}(a)", "PRAGMA user_version={number}",
          "PRAGMA application_id={number}", "PRAGMA auto_vacuum=1; VACUUM", "PRAGMA page_size=512; VACUUM",
          "PRAGMA page_size=65536; VACUUM", "PRAGMA encoding='UTF-16'; VACUUM", "PRAGMA journal_mode=WAL",
          "ANALYZE", "REINDEX")
FORGED = ("view", "trigger", "index")


def rows(database, table):
    return database.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0]


def some(random, database):
    """(table, column) of a table with rows."""
    tables = [name for name, in database.execute("SELECT name FROM sqlite_schema WHERE type='table'")]
    random.shuffle(tables)
    for table in tables:
        if rows(database, table):
            columns = [row[1] for row in database.execute(f'PRAGMA table_info("{table}")')]
            return table, random.choice(columns)
    return None, None


def key_of(database, table):
    """What distinguishes rows: the primary key's columns."""
    return [row[1] for row in database.execute(f'PRAGMA table_info("{table}")') if row[5]]


def one_row(random, database, table):
    """A condition that one row meets."""
    keys = key_of(database, table)
    row = database.execute(f'SELECT {",".join(map(quoted, keys))} FROM "{table}" LIMIT 1 OFFSET ?',
                           (random.randrange(rows(database, table)),)).fetchone()
    return " AND ".join(f"{quoted(key)} IS {literal(value)}" for key, value in zip(keys, row))


def quoted(name):
    return f'"{name}"'


def literal(value):
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value) if value is not None else "NULL"


def value_of(random, column):
    if REFERENCES.match(column) and random.randrange(2):
        name = quoted(column)
        return random.choice((f"{name}+1", f"{name}-1", "max(id-1,0)", "id", "id+1", "0", "1", "id/2", "4294967295"))
    if random.randrange(3):
        return random.choice(MILD)
    return random.choice(NUMBERS + NUMBERS + TEXTS) if random.randrange(8) else \
        str(extreme(random, random.getrandbits(16), random.choice((1, 4, 8))) - (1 << 63) * random.randrange(2))


def update(random, database):
    table, column = some(random, database)
    value = value_of(random, column)
    where = "" if random.randrange(3) == 0 else f" WHERE {one_row(random, database, table)}"
    return f'UPDATE OR IGNORE "{table}" SET "{column}"={value}{where}'


def text(random, database):
    if random.randrange(2):
        where = "" if random.randrange(3) == 0 else f" WHERE {one_row(random, database, 'name')}"
        return f"UPDATE name SET text={random.choice(TEXTS)}{where}"
    table, column = random.choice((("module", "path"), ("argument", "text"), ("degraded", "text"), ("process", "exe"),
                                   ("thread", "name"), ("dropped", "meaning"), ("block_thread", "name"), ("merged", "host"),
                                   ("merged", "file"), ("merged", "command"), ("path_run", "event")))
    return f'UPDATE "{table}" SET "{column}"={random.choice(TEXTS)}'


def run(random, database):
    keys = [key for key, in database.execute("SELECT key FROM run")]
    return f"UPDATE run SET value={random.choice(NUMBERS + TEXTS)} WHERE key='{random.choice(keys)}'"


def delete(random, database):
    table, _ = some(random, database)
    return f'DELETE FROM "{table}"' + ("" if random.randrange(2) else f" WHERE {one_row(random, database, table)}")


def parents(random, database):
    """Chains as long as the table, rings, parents that come later."""
    table = random.choice(("context", "vertex", "loop"))
    value = random.choice(("max(id-1,0)", "id", "id+1", "max(id-2,0)", "0", "id/2", "1", "4294967295", "(id+1)%7"))
    return f'UPDATE "{table}" SET parent={value}'


def frames(random, _database):
    """All contexts of one frame, frames of one name: what is folded, merged, aligned."""
    return random.choice(("UPDATE context SET frame=1", "UPDATE frame SET function=1", "UPDATE frame SET function=NULL",
                          "UPDATE frame SET flags=4294967295", "UPDATE frame SET line=4294967295",
                          "UPDATE frame SET file=1, line=id", "UPDATE frame SET module=0", "UPDATE context SET frame=1+id%2"))


def grow(random, database):
    """Many contexts, one under the other, side by side or both, and findings in all of them."""
    count = random.choice((100, 1000, 3000, 5000))
    last = rows(database, "context")
    parent = random.choice((f"{last}+n-1", "1", "0", f"{last}+n/2", f"CASE WHEN n%2 THEN {last}+n-1 ELSE max({last}+n-3,0) END"))
    numbers = f"WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM c WHERE n<{count})"
    frame = random.choice(("1", "1+n%2", f"1+n%{rows(database, 'frame')}"))
    some_of = random.choice(("", " WHERE n%7=0", f" WHERE n>{count - 20}"))
    statements = [f"INSERT INTO context {numbers} SELECT {last}+n, {parent}, {frame} FROM c"]
    found = random.choice(("pair", "reuse_pair", "sampled", "block_stack", "block_holder"))
    if rows(database, found):
        at = rows(database, found)
        columns = [row[1] for row in database.execute(f'PRAGMA table_info("{found}")')]
        deep = {"pair": ("first", "second"), "reuse_pair": ("use", "reuse"), "sampled": ("context",)}.get(found, ("context",))
        chosen = [f"{last}+n" if column in deep else f"{at}-1+n" if column == "id" else quoted(column) for column in columns]
        statements.append(f'INSERT OR IGNORE INTO "{found}" {numbers} SELECT {",".join(chosen)} FROM c, (SELECT * FROM "{found}" '
                          f'WHERE {one_row(random, database, found)}){some_of}')
    return ";".join(statements)


ALONE = ("name", "frame", "context", "module", "process", "thread", "argument", "degraded", "dropped", "loop", "cache", "what_if",
         "block_skip", "block_function", "vertex", "path_function", "block_thread", "merged", "histogram")


def multiply(random, database):
    """Rows a thousand times, with keys that go on behind the last one; deep or wide."""
    table = random.choice(ALONE) if random.randrange(3) else some(random, database)[0]
    if not rows(database, table):
        return None
    keys = key_of(database, table)
    columns = [row[1] for row in database.execute(f'PRAGMA table_info("{table}")')]
    times = random.choice((10, 1000, 1000, 20000))
    key = random.choice(keys)
    last = database.execute(f'SELECT max("{key}") FROM "{table}"').fetchone()[0]
    if not isinstance(last, int):
        return None
    chosen = [f"{last}+n" if column == key else
              f"{last}+n-1" if column == "parent" and random.randrange(2) else quoted(column) for column in columns]
    return (f'INSERT OR IGNORE INTO "{table}" WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM c WHERE n<{times}) '
            f'SELECT {",".join(chosen)} FROM c, (SELECT * FROM "{table}" WHERE {one_row(random, database, table)})')


def scale(random, database):
    """Every number of a column larger, or of the other sign."""
    table, column = some(random, database)
    return (f'UPDATE OR IGNORE "{table}" SET "{column}"="{column}"*' +
            random.choice(("-1", "1000", "1e12", "0", "0.001", "1e300", "1e-300")))


def schema(random, database):
    table, _ = some(random, database)
    return random.choice(SCHEMA).format(table=table, number=random.choice((0, 1, 2, 5, 7, -1, 2147483647)))


def forged(random, database):
    """A schema that SQLite itself would not have made."""
    table, column = some(random, database)
    return "PRAGMA writable_schema=ON;" + random.choice((
        f"UPDATE sqlite_schema SET rootpage=(SELECT rootpage FROM sqlite_schema WHERE name='frame') WHERE name='{table}'",
        f"UPDATE sqlite_schema SET type='{random.choice(FORGED)}' WHERE name='{table}'",
        f"UPDATE sqlite_schema SET sql=replace(sql,'NOT NULL','') WHERE name='{table}'",
        f"UPDATE sqlite_schema SET sql=replace(sql,'{column}','{column}x') WHERE name='{table}'",
        f"UPDATE sqlite_schema SET rootpage={random.choice((0, 1, 99999, -1))} WHERE name='{table}'",
        f"DELETE FROM sqlite_schema WHERE name='{table}'",
        f"UPDATE sqlite_schema SET sql=NULL WHERE name='{table}'",
        f"UPDATE sqlite_schema SET sql='CREATE TABLE {table}(x, y AS (randomblob(1000000000)))' WHERE name='{table}'"))


SQL = (update, update, update, update, update, update, update, text, text, text, run, run, delete, parents, parents, frames,
       frames, multiply, multiply, multiply, grow, grow, grow, scale, scale)
SELDOM = (schema, forged)


def mutate_sql(random, seed, path):
    """A copy of the seed, changed by a few statements, at `path`."""
    with open(seed, "rb") as source, open(path, "wb") as target:
        target.write(source.read())
    said = []
    database = sqlite3.connect(path, isolation_level=None)
    try:
        database.execute("PRAGMA journal_mode=OFF")
        database.execute("PRAGMA synchronous=OFF")
        database.execute("PRAGMA max_page_count=4096")
        for _ in range(random.choice((1, 1, 1, 2, 3))):
            try:
                statement = random.choice(SQL if random.randrange(12) else SELDOM)(random, database)
                if statement:
                    database.executescript(statement)
                    said.append(statement)
            except (sqlite3.Error, ValueError, TypeError, IndexError):
                pass
    finally:
        database.close()
    for suffix in ("-wal", "-shm", "-journal"):
        if os.path.exists(path + suffix):
            os.unlink(path + suffix)
    with open(path, "rb") as file:
        return file.read(), "; ".join(said) or "as it was"


def mutate_bytes(random, seed):
    with open(seed, "rb") as file:
        data = bytearray(file.read())
    page, = struct.unpack_from(">H", data, 16)
    page = page if page > 1 else 65536
    pages = max(1, len(data) // page)
    way = random.randrange(8)
    if way == 0:
        said = flip(random, data, 0, 100)
        return bytes(data), f"header: {said}"
    if way == 1:
        del data[random.choice((random.randrange(len(data)), random.randrange(pages) * page)):]
        return bytes(data), f"cut to {len(data)} bytes"
    if way == 2:
        one, other = random.randrange(pages) * page, random.randrange(pages) * page
        data[one:one + page] = data[other:other + page]
        return bytes(data), f"page at {other:#x} copied to {one:#x}"
    start = random.randrange(pages) * page + (100 if random.randrange(pages) == 0 else 0)
    if way in (3, 4):  # a page's header and its cells' pointers
        said = flip(random, data, start, min(start + 64, len(data)), 4)
        return bytes(data), f"page header: {said}"
    if way == 5:  # records at the end of a page
        said = flip(random, data, max(start, start + page - 400), min(start + page, len(data)), 16)
        return bytes(data), f"records: {said}"
    if way == 6:  # words that may be page numbers
        at = start + random.randrange(page - 4)
        struct.pack_into(">I", data, min(at, len(data) - 4), random.choice((0, 1, 2, pages, pages + 1, 0xFFFFFFFF,
                                                                            random.randrange(pages) + 1)))
        return bytes(data), f"word at {at:#x}"
    said = flip(random, data, 0, len(data), random.choice((1, 16, 200)))
    return bytes(data), said
