# SPDX-License-Identifier: MIT
"""Makes the region that built programs record in, and reads it, independently of headroom."""
import os
import struct
import subprocess

PAGE, REGION_BYTES = 4096, 1 << 40
MAGIC, VERSION, ENTRY_MAGIC = 0x31304C5542524448, 1, 0x31505248
MODULE, COUNTERS, HASH, RECORDS = 1, 2, 3, 4
PATHS, CONTEXTS, CALL_SITES = 1, 2, 4
OVERFLOW = 0xFFFFFFFF
HEADER = struct.Struct("<QIIQQI")
PIECE = struct.Struct("<IIIIQQQQQQ")
RECORD = struct.Struct("<QQQQQQQIIQ")
ENTRY = struct.Struct("<IIiiIHBBIIIIf")


class Region:
    """Anything in it may be torn: the program may have been killed at any instruction."""

    def __init__(self):
        self.file = os.memfd_create("headroom-test")
        os.ftruncate(self.file, REGION_BYTES)
        os.pwrite(self.file, HEADER.pack(MAGIC, VERSION, 0, PAGE, 0, 0), 0)

    def variable(self):
        return f"{VERSION}:{os.getpid()}:{self.file}"

    def run(self, command, **options):
        environment = dict(os.environ, HEADROOM_BUILT=self.variable(), **options.pop("env", {}))
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300,
                              **options)

    def close(self):
        os.close(self.file)

    def header(self):
        return HEADER.unpack(os.pread(self.file, HEADER.size, 0))

    def refused(self):
        return struct.unpack("<I", os.pread(self.file, 4, HEADER.size))[0]

    def pieces(self):
        at, end = PAGE, self.header()[3]
        while at < end:
            fields = PIECE.unpack(os.pread(self.file, PIECE.size, at))
            if fields[0] == 0:  # never published, or left over: the next page may be a piece
                try:
                    at = max(at + PAGE, os.lseek(self.file, at + PAGE, os.SEEK_DATA) // PAGE * PAGE)
                except OSError:
                    return
                continue
            yield Piece(self, at, fields)
            at += fields[4]


class Piece:
    def __init__(self, region, offset, fields):
        self.region, self.offset = region, offset
        self.kind, self.pid, self.tid, self.process, self.bytes, self.address, self.module, self.of = fields[:8]

    def read(self, at=0, count=None):
        """From its start; pages that were never touched come without being made."""
        return os.pread(self.region.file, self.bytes - at if count is None else count, self.offset + at)


class Module:
    def __init__(self, piece):
        (self.map, self.map_bytes, self.counters, self.counters_bytes, self.bias, self.parent,
         self.start) = struct.unpack_from("<7Q", piece.read(64, 56))
        self.path = piece.read(120, 3968).split(b"\0")[0].decode()
        self.process = piece.process
        self.functions = functions_of(self)


class Function:
    def __init__(self, module, at, fields, name):
        self.module, self.address, self.name = module, at, name
        self.table = at + 12 + fields[3] if fields[3] else 0
        self.cells, self.modes, self.kind, self.sites = fields[4], fields[5], fields[6], fields[10]


def sections(path):
    """{name: (address, offset, bytes)} and {address: function name}, by readelf."""
    found, names = {}, {}
    for line in subprocess.run(["readelf", "-SW", path], capture_output=True, text=True).stdout.splitlines():
        words = line.replace("[ ", "[").split()
        if len(words) > 5 and words[0].startswith("[") and words[1] not in ("Name", "NULL"):
            found[words[1]] = tuple(int(word, 16) for word in words[3:6])
    for line in subprocess.run(["nm", path], capture_output=True, text=True).stdout.splitlines():
        words = line.split()
        if len(words) == 3 and words[1] in "tTiI":
            names[int(words[0], 16)] = words[2]
    return found, names


_files = {}


def functions_of(module):
    if module.path not in _files:
        _files[module.path] = sections(module.path) + (open(module.path, "rb").read(),)
    found, names, data = _files[module.path]
    address, offset, size = found["headroom_map"]
    assert (address + module.bias) % 2**64 == module.map and size == module.map_bytes, "map's address"
    functions, at = {}, 0
    while at < size:
        fields = ENTRY.unpack_from(data, offset + at)
        assert fields[0] == ENTRY_MAGIC
        entry = address + at
        name = names[entry + 8 + fields[2]]
        functions[module.map + at] = Function(module, module.map + at, fields, name)
        at += 4 * fields[1]
    return functions


def table_counts(words, counts, word=1):
    """Of a struct built_hash, as a list of its words; word 2: cycles."""
    for at in range(3, len(words) - 3, 4):
        if words[at]:
            counts[words[at] - 1] = counts.get(words[at] - 1, 0) + words[at + word]


class Recording:
    """counts: {(process, function name): {path: count}}; cycles, of hash tables: {name: {path: cycles}};
    records: {(process, address): Record}."""

    def __init__(self, region):
        self.modules, self.counts, self.records, self.cycles = {}, {}, {}, {}
        self.tables = {}  # hash tables: {(process, address): function}
        self.counters = 0
        pieces = list(region.pieces())
        self.threads = {(piece.process, piece.tid) for piece in pieces if piece.kind == COUNTERS}
        self.functions = {}
        for piece in pieces:
            if piece.kind == MODULE:
                module = Module(piece)
                self.modules[piece.process, piece.module] = module
                for address, function in module.functions.items():
                    self.functions[piece.process, address] = function
        self.lost = region.header()[4]
        for piece in pieces:
            if piece.kind == COUNTERS:
                self.counters += 1
                self.take_counters(piece)
            elif piece.kind == RECORDS:
                self.take_records(piece)
        for piece in pieces:
            if piece.kind == HASH:
                self.take_hash(piece)

    def take_counters(self, piece):
        module = self.modules[piece.process, piece.module]
        data = piece.read(64, module.counters_bytes)
        for function in module.functions.values():
            if not function.table or function.modes & CONTEXTS:
                continue
            at = function.table - module.counters
            self.tables[piece.process, piece.address + 64 + at] = function
            words = struct.unpack_from(f"<{function.cells}Q", data, at)
            self.add(piece.process, function, words)

    def add(self, process, function, words):
        counts = self.counts.setdefault((process, function.name), {})
        if function.kind == 2:
            table_counts(words, counts)
            table_counts(words, self.cycles.setdefault(function.name, {}), 2)
        else:
            for path, count in enumerate(words):
                if count:
                    counts[path] = counts.get(path, 0) + count

    def take_hash(self, piece):
        words = struct.unpack(f"<{(piece.bytes - 64) // 8}Q", piece.read(64))
        owner = self.tables[piece.process, piece.of]
        table_counts(words, self.cycles.setdefault(owner.name, {}), 2)
        table_counts(words, owner.paths if isinstance(owner, Record) else
                     self.counts.setdefault((piece.process, owner.name), {}))

    def take_records(self, piece):
        data, at = piece.read(), 64
        while at + RECORD.size <= len(data):
            record = Record(RECORD.unpack_from(data, at))
            record.unloaded = record.function & 1
            record.function &= ~1
            if record.bytes == 0:
                return
            record.function_entry = self.functions.get((piece.process, record.function))
            record.name = record.function_entry.name if record.function_entry else None
            record.tid = piece.tid
            self.take_record_cells(piece, record, data, at)
            self.records[piece.process, piece.address + at] = record
            at += record.bytes

    def take_record_cells(self, piece, record, data, at):
        record.paths = {}
        start = at + RECORD.size + 8 * record.slots
        words = struct.unpack_from(f"<{(at + record.bytes - start) // 8}Q", data, start)
        if record.function_entry and record.function_entry.kind == 2:
            table_counts(words, record.paths)
            self.tables[piece.process, piece.address + start] = record
        else:
            record.paths = {path: count for path, count in enumerate(words) if count}

    def total(self, name):
        """{path: count} over all processes."""
        sums = {}
        for (_, function), counts in self.counts.items():
            if function == name:
                for path, count in counts.items():
                    sums[path] = sums.get(path, 0) + count
        return sums

    def context(self, process, address):
        """Names from the root: a root is '', an overflow record '*'."""
        names = []
        while address:
            record = self.records[process, address]
            names.append("*" + (record.name or "") if record.slot == OVERFLOW else record.name or "")
            address = record.parent
        return "/".join(reversed(names))

    def contexts(self, sites=False):
        """{path of names: activations}, threads and processes added up."""
        sums = {}
        for process, address in self.records:
            record = self.records[process, address]
            if record.name and record.count:
                name = self.context(process, address) + (f"@{record.slot}" if sites else "")
                sums[name] = sums.get(name, 0) + record.count
        return sums


class Record:
    """A calling context: name, count, paths {path: count}."""

    def __init__(self, fields):
        (self.function, self.parent, self.sibling, self.children, self.count, self.cycles, self.measured, self.slot,
         self.slots, self.bytes) = fields
