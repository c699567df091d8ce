# SPDX-License-Identifier: MIT
"""Damages raw logs (src/common/wire/wire.h): bytes as they come, and records and frames whose checksums are made right again."""
import struct

from elf import extreme, flip

MASK = (1 << 64) - 1
MAGIC = 0x4D524648
HEADER_WORDS = struct.Struct("<QII")
FRAME = struct.Struct("<IIIIIIII")  # magic, payload bytes, process, thread, pid, sequence, offset, checksum
MOST_PAYLOAD = 8192
PROCESS, MODULE, THREAD, NODE = 1, 2, 3, 4
TYPES = 18


def mix(value):
    """base_mix64"""
    value &= MASK
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 & MASK
    value = (value ^ value >> 27) * 0x94D049BB133111EB & MASK
    return value ^ value >> 31


def checksum(payload, seed):
    value = mix(seed + len(payload))
    for word, in struct.iter_unpack("<Q", payload[:len(payload) // 8 * 8]):
        value = mix(value ^ word) + 0x9E3779B97F4A7C15 & MASK
    return value >> 32


class Record:
    def __init__(self, kind, body):
        self.kind, self.body = kind, bytearray(body)

    def copy(self):
        return Record(self.kind, self.body)

    def encoded(self):
        size = len(self.body) + 8
        if size > 0xFFFF:
            return b""
        return struct.pack("<IHH", checksum(self.body, self.kind << 16 | size), self.kind, size) + self.body


class Frame:
    def __init__(self, process, thread, pid, sequence, offset, records):
        self.process, self.thread, self.pid = process, thread, pid
        self.sequence, self.offset, self.records = sequence, offset, records

    def copy(self):
        return Frame(self.process, self.thread, self.pid, self.sequence, self.offset,
                     [record.copy() for record in self.records])

    def encoded(self):
        payload = b"".join(record.encoded() for record in self.records)
        seed = mix(self.process << 32 | self.thread)
        seed = mix(seed ^ self.pid) ^ (self.sequence << 32 | self.offset)
        return FRAME.pack(MAGIC, len(payload), self.process, self.thread, self.pid, self.sequence, self.offset,
                          checksum(payload, seed)) + payload


class Log:
    def __init__(self, data):
        _, _, size = HEADER_WORDS.unpack_from(data)
        self.header = bytearray(data[:size])
        self.frames = []
        at = size
        while at + FRAME.size <= len(data):
            magic, payload, process, thread, pid, sequence, offset, _ = FRAME.unpack_from(data, at)
            if magic != MAGIC:
                break
            at += FRAME.size
            self.frames.append(Frame(process, thread, pid, sequence, offset, self.records(data[at:at + payload])))
            at += payload

    @staticmethod
    def records(payload):
        found, at = [], 0
        while at + 8 <= len(payload):
            _, kind, size = struct.unpack_from("<IHH", payload, at)
            if size < 8:
                break
            found.append(Record(kind, payload[at + 8:at + size]))
            at += size
        return found

    def encoded(self):
        return bytes(self.header) + b"".join(frame.encoded() for frame in self.frames)

    def some(self, random, *kinds):
        """(frame, index) of a record of these kinds, or of any."""
        found = [(frame, index) for frame in self.frames for index, record in enumerate(frame.records)
                 if not kinds or record.kind in kinds]
        return random.choice(found) if found else (None, None)


def settings(random, log):
    words = len(log.header) // 4
    place = random.choice((2, 3, 4, 5, 6, random.randrange(min(words, 34)))) * 4
    before, = struct.unpack_from("<I", log.header, place)
    value = extreme(random, before, 4)
    struct.pack_into("<I", log.header, place, value)
    return f"header word {place} {before:#x} -> {value:#x}"


def member(random, log):
    said = []
    for _ in range(random.choice((1, 1, 2, 5))):
        frame, index = log.some(random)
        if not frame or not frame.records[index].body:
            continue
        record = frame.records[index]
        width = random.choice((8, 4, 4, 2, 1))
        if len(record.body) < width:
            continue
        place = random.randrange(len(record.body) // width) * width
        before = int.from_bytes(record.body[place:place + width], "little")
        value = extreme(random, before, width)
        record.body[place:place + width] = value.to_bytes(width, "little")
        said.append(f"type {record.kind} byte {place + 8} {before:#x} -> {value:#x}")
    return ", ".join(said) or None


def floats(random, log):
    """Numbers that are none, in records that have floating-point members."""
    frame, index = log.some(random, 5, 6, 10, 11, 12, 13)
    if not frame:
        return None
    record = frame.records[index]
    value = random.choice((float("nan"), float("inf"), float("-inf"), -1.0, 1e308, -0.0, 5e-324, 3.4e38))
    if random.randrange(2) and len(record.body) >= 8:
        place = random.randrange(len(record.body) // 8) * 8
        struct.pack_into("<d", record.body, place, value)
    else:
        place = random.randrange(len(record.body) // 4) * 4
        record.body[place:place + 4] = struct.pack("<f", max(min(value, 3.4e38), -3.4e38) if abs(value) < 1e309 else value)
    return f"type {record.kind} byte {place + 8} = {value}"


def kind(random, log):
    frame, index = log.some(random)
    if not frame:
        return None
    record = frame.records[index]
    before = record.kind
    record.kind = random.randrange(TYPES + 2)
    return f"type {before} becomes {record.kind}"


def length(random, log):
    frame, index = log.some(random)
    if not frame:
        return None
    record = frame.records[index]
    size = random.choice((0, 8, 16, len(record.body) + 8, len(record.body) + 64, 2040, max(0, len(record.body) - 8)))
    record.body = (record.body + bytes(size))[:size]
    return f"type {record.kind} of {size + 8} bytes"


def ids(random, log):
    """Parents that are the node itself, its child, another's; ids far from all others."""
    said = []
    for _ in range(random.choice((1, 3, 20))):
        frame, index = log.some(random, NODE, 15, 16)
        if not frame:
            return None
        body = frame.records[index].body
        own, parent = struct.unpack_from("<II", body)
        own, parent = random.choice(((own, own), (own, own + 1), (own, own - 1), (own, 0xFFFFFFFF), (0, parent),
                                     (1 << random.randrange(32), parent), (own + 1, parent), (own, 1 << 27),
                                     ((1 << 28) - 1, 0), ((1 << 24) - 1, 0)))
        struct.pack_into("<II", body, 0, own & 0xFFFFFFFF, parent & 0xFFFFFFFF)
        said.append(f"node {own:#x} of {parent:#x}")
    return ", ".join(said)


def deep(random, log):
    """One context under the other, many times."""
    frame, index = log.some(random, NODE)
    if not frame:
        return None
    count = random.choice((1000, 10000, 50000))
    template, made, first = frame.records[index], [], 1000
    for number in range(first, first + count):
        record = template.copy()
        struct.pack_into("<II", record.body, 0, number, number - 1 if number > first else 0)
        if random.randrange(8) == 0:
            struct.pack_into("<Q", record.body, len(record.body) - 8, random.getrandbits(20))
        made.append(record)
    spread(log, frame, made)
    for other in list(log.frames):
        for record in other.records:
            if record.kind in (5, 6) and len(record.body) >= 12:
                struct.pack_into("<I", record.body, 4, first + count - 1)
    return f"{count} nodes deep"


def spread(log, frame, records):
    """Records into frames of their own behind that one."""
    size = 40
    each = max(1, (MOST_PAYLOAD - 32) // max(size, len(records[0].body) + 8))
    at = log.frames.index(frame) + 1
    made = []
    for start in range(0, len(records), each):
        made.append(Frame(frame.process, frame.thread, frame.pid, frame.sequence + 1 + start // each & 0xFFFFFFFF, 0,
                          records[start:start + each]))
    log.frames[at:at] = made


def many(random, log):
    """A record a thousand times, or as many different ones."""
    frame, index = log.some(random)
    if not frame:
        return None
    template, made = frame.records[index], []
    different = random.randrange(2)
    for number in range(random.choice((10, 1000, 3000))):
        record = template.copy()
        if different and len(record.body) >= 8:
            place = random.choice((0, 4)) if different else 0
            struct.pack_into("<I", record.body, place, number)
        made.append(record)
    if len(template.body) > MOST_PAYLOAD - 64:
        return None
    spread(log, frame, made)
    return f"type {template.kind} {len(made)} times"


def gone(random, log):
    frame, index = log.some(random)
    if not frame:
        return None
    if random.randrange(2):
        wanted = frame.records[index].kind
        for other in log.frames:
            other.records = [record for record in other.records if record.kind != wanted]
        return f"no record of type {wanted}"
    del frame.records[index]
    return "a record is gone"


def frames(random, log):
    if not log.frames:
        return None
    way = random.randrange(4)
    if way == 0:
        random.shuffle(log.frames)
        return "frames in another order"
    frame = random.choice(log.frames)
    if way == 1:
        log.frames.insert(random.randrange(len(log.frames)), frame.copy())
        return "a frame twice"
    name = random.choice(("process", "thread", "pid", "sequence", "offset"))
    before = getattr(frame, name)
    setattr(frame, name, extreme(random, before, 4))
    return f"frame's {name} {before:#x} -> {getattr(frame, name):#x}"


PATHS = ("pipe", "/dev/zero", ".", "/proc/self/mem", "", "[vdso]", "[jit]", "/dev/tty", "../" * 150, "/proc/self/fd/1",
         "\x1b]0;x\x07\x1b[2J", "a\nb", "<script>alert(1)</script>", "\udcff\udcfe", "large", "/proc/kcore", "x" * 1900,
         "link")


def paths(random, log):
    """Modules and programs whose files are none, block, or have odd names."""
    frame, index = log.some(random, MODULE)
    if not frame or len(frame.records[index].body) < 56:
        return None
    record = frame.records[index]
    path = random.choice(PATHS)
    encoded = path.encode("utf-8", "surrogateescape") + b"\0"
    record.body = record.body[:path_at(record)] + encoded + bytes(-(len(encoded) + path_at(record)) % 8)
    return f"module {path[:40]!r}"


def path_at(record):
    """struct wire_module: process, module, start, end, bias, device, inode, path."""
    return 8 + 5 * 8


def texts(random, log):
    frame, index = log.some(random, PROCESS, THREAD, MODULE)
    if not frame:
        return None
    body = frame.records[index].body
    low = len(body) * 2 // 3
    for at in range(low, len(body)):
        if body[at]:
            body[at] = random.choice((0x1B, 0x9B, 0x0A, 0x0D, 0xFF, 0x22, 0x3C, 0x5C, 0x07, 0xC2))
    return f"odd text in type {frame.records[index].kind}"


SOUND = (settings, member, member, member, member, floats, kind, length, ids, ids, deep, many, gone, frames, frames, paths,
         paths, texts)


def raw(random, seed):
    data = bytearray(seed)
    way = random.randrange(4)
    if way == 0:
        del data[random.randrange(len(data)):]
        return bytes(data), f"cut to {len(data)} bytes"
    if way == 1:
        at = random.randrange(len(data))
        data[at:at] = random.randbytes(random.choice((1, 7, 64, 5000)))
        return bytes(data), f"something inserted at {at:#x}"
    if way == 2:  # a frame's own length, checksum as it was
        at = data.find(MAGIC.to_bytes(4, "little"), random.randrange(len(data)))
        if 0 <= at <= len(data) - 8:
            before, = struct.unpack_from("<I", data, at + 4)
            value = extreme(random, before, 4)
            struct.pack_into("<I", data, at + 4, value)
            return bytes(data), f"frame at {at:#x} of {value:#x} bytes"
    said = flip(random, data, 0, len(data), random.choice((1, 8, 100)))
    return bytes(data), said


def mutate(random, seed):
    if random.randrange(8) == 0:
        return raw(random, seed)
    log, said = Log(seed), []
    for _ in range(random.choice((1, 1, 2, 3))):
        try:
            done = random.choice(SOUND)(random, log)
        except (struct.error, OverflowError, IndexError):
            done = None
        if done:
            said.append(done)
    return log.encoded(), "; ".join(said) or "as it was"
