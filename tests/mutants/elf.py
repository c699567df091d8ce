# SPDX-License-Identifier: MIT
"""Damages ELF files: headers, tables, unwind tables, debug information. Mutators take a random.Random, the bytes
(a bytearray, changed in place) and return a few words that say what was done, or None where there is nothing of the kind."""
import struct
import zlib

EXTREMES = (0, 1, 2, 3, 7, 8, 0x10, 0x7F, 0x80, 0xFF, 0x100, 0xFFF, 0x1000, 0x7FFF, 0x8000, 0xFFFF, 0x10000,
            0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF, 1 << 32, 1 << 47, (1 << 63) - 1, 1 << 63, (1 << 64) - 8,
            (1 << 64) - 1)

# (offset, bytes) of the members of each structure.
HEADER = {"class": (4, 1), "data": (5, 1), "abi": (7, 1), "type": (16, 2), "machine": (18, 2), "entry": (24, 8),
          "phoff": (32, 8), "shoff": (40, 8), "ehsize": (52, 2), "phentsize": (54, 2), "phnum": (56, 2),
          "shentsize": (58, 2), "shnum": (60, 2), "shstrndx": (62, 2)}
SECTION = {"name": (0, 4), "type": (4, 4), "flags": (8, 8), "addr": (16, 8), "offset": (24, 8), "size": (32, 8),
           "link": (40, 4), "info": (44, 4), "align": (48, 8), "entsize": (56, 8)}
SEGMENT = {"type": (0, 4), "flags": (4, 4), "offset": (8, 8), "vaddr": (16, 8), "paddr": (24, 8), "filesz": (32, 8),
           "memsz": (40, 8), "align": (48, 8)}
TABLES = {2: ("symbol", 24), 11: ("dynamic symbol", 24), 4: ("relocation", 24), 6: ("dynamic entry", 16)}
COMPRESSED = 0x800


def extreme(random, before, width):
    """A value to put where `before` stood, in so many bytes."""
    most = (1 << 8 * width) - 1
    way = random.randrange(8)
    if way < 3:
        value = random.choice(EXTREMES)
    elif way == 3:
        value = before + random.choice((-1, 1, -8, 8, -16, 16, -4096, 4096))
    elif way == 4:
        value = before ^ 1 << random.randrange(8 * width)
    elif way == 5:
        value = before * random.choice((2, 3, 16, 256))
    elif way == 6:
        value = most - random.randrange(64)
    else:
        value = random.getrandbits(8 * width)
    return value & most


def change(random, data, offset, width):
    """Puts an extreme value there; returns words for it."""
    if offset < 0 or offset + width > len(data):
        return None
    before = int.from_bytes(data[offset:offset + width], "little")
    value = extreme(random, before, width)
    data[offset:offset + width] = value.to_bytes(width, "little")
    return f"{before:#x} -> {value:#x}"


class Section:
    def __init__(self, number, header, name, kind, flags, offset, size):
        self.number, self.header, self.name, self.kind = number, header, name, kind
        self.flags, self.offset, self.size = flags, offset, size


def sections(data):
    """Sections of a sound file, without the first one."""
    start, = struct.unpack_from("<Q", data, 40)
    count, names_at = struct.unpack_from("<HH", data, 60)
    if not start or not count:
        return []
    names_offset, = struct.unpack_from("<Q", data, start + 64 * names_at + 24)
    found = []
    for number in range(1, count):
        name, kind, flags, _, offset, size = struct.unpack_from("<IIQQQQ", data, start + 64 * number)
        end = data.index(0, names_offset + name)
        found.append(Section(number, start + 64 * number, data[names_offset + name:end].decode(), kind, flags, offset,
                             0 if kind == 8 else size))
    return found


def flip(random, data, low, high, most=8):
    """Bytes within a range, changed each in one of several ways."""
    if high <= low:
        return None
    places = sorted({random.randrange(low, high) for _ in range(random.randint(1, most))})
    for place in places:
        data[place] = random.choice((data[place] ^ 1 << random.randrange(8), random.randrange(256), 0, 0xFF, 0x80,
                                     (data[place] + 1) & 0xFF, (data[place] - 1) & 0xFF))
    return "bytes " + " ".join(f"{place:#x}" for place in places)


# ---- of the file as a whole ------------------------------------------------------------------------------


def any_bytes(random, data):
    return flip(random, data, 0, len(data), random.choice((1, 4, 64)))


def header(random, data):
    name = random.choice(list(HEADER))
    done = change(random, data, *HEADER[name])
    return done and f"header {name} {done}"


def section_header(random, data):
    found = sections(data)
    if not found:
        return None
    section, name = random.choice(found), random.choice(list(SECTION))
    done = change(random, data, section.header + SECTION[name][0], SECTION[name][1])
    return done and f"section {section.name} {name} {done}"


def section_shares(random, data):
    """A section that is where another one is, or links to itself."""
    found = sections(data)
    if len(found) < 2:
        return None
    one, other = random.sample(found, 2)
    way = random.randrange(3)
    if way == 0:
        struct.pack_into("<QQ", data, one.header + 24, other.offset, other.size)
    elif way == 1:
        struct.pack_into("<I", data, one.header + 40, one.number)
    else:
        struct.pack_into("<QQ", data, one.header + 24, 0, len(data))
    return f"section {one.name} {('lies on ' + other.name, 'links to itself', 'is the whole file')[way]}"


def segment(random, data):
    start, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    if not count or size != 56:
        return None
    number, name = random.randrange(count), random.choice(list(SEGMENT))
    done = change(random, data, start + 56 * number + SEGMENT[name][0], SEGMENT[name][1])
    return done and f"segment {number} {name} {done}"


def table_entry(random, data):
    found = [section for section in sections(data) if section.kind in TABLES and section.size]
    if not found:
        return None
    section = random.choice(found)
    what, size = TABLES[section.kind]
    number = random.randrange(section.size // size)
    offset, width = random.choice(((0, 8), (8, 8)) if size == 16 else ((0, 4), (4, 1), (6, 2), (8, 8), (16, 8)))
    done = change(random, data, section.offset + number * size + offset, width)
    return done and f"{what} {number} of {section.name} at {offset} {done}"


def unwind(random, data):
    found = [section for section in sections(data) if section.name in (".eh_frame", ".eh_frame_hdr", ".debug_frame")
             and section.size]
    if not found:
        return None
    section = random.choice(found)
    if section.name != ".eh_frame_hdr" and random.randrange(2):
        starts, at = [], section.offset
        while at + 8 <= section.offset + section.size:
            length, = struct.unpack_from("<I", data, at)
            starts.append(at)
            at += length + 4
        at = random.choice(starts) + random.choice((0, 4, 8, 12))
        done = change(random, data, at, 4)
        return done and f"{section.name} entry word at {at:#x} {done}"
    return f"{section.name} " + (flip(random, data, section.offset, section.offset + section.size) or "")


def note(random, data):
    found = [section for section in sections(data) if section.kind == 7 and section.size >= 12]
    if not found:
        return None
    section = random.choice(found)
    at = section.offset + random.choice((0, 4, 8, 12))
    done = change(random, data, at, 4)
    return done and f"note {section.name} {done}"


def strings(random, data):
    """String tables without an end, names of any bytes, very long."""
    found = [section for section in sections(data) if section.kind == 3 and section.size > 1]
    if not found:
        return None
    section = random.choice(found)
    low, high = section.offset, section.offset + section.size
    way = random.randrange(4)
    if way == 0:
        data[high - 1] = 0x41
    elif way == 1:
        for at in range(low + 1, high):
            data[at] = data[at] or 0x5F
    elif way == 2:
        for at in range(low + 1, high):
            if data[at] and random.randrange(4) == 0:
                data[at] = random.choice((0x1B, 0x0A, 0x9B, 0xFF, 0xC3, 0x22, 0x3C, 0x7F))
    else:  # what a demangler recurses in
        text = random.choice((b"_Z" + b"N1aI" * 200, b"_ZSt" + b"3fooIX" * 100, b"_R" + b"NvC" * 150, b"_RB" + b"_" * 90,
                              b"_Z1f" + b"P" * 600 + b"i", b"_Z1fS_S0_S1_" * 50))
        at = random.randrange(low, high)
        text = text[:high - 1 - at]
        data[at:at + len(text)] = text
    return f"{section.name} " + ("without an end", "as one string", "with odd bytes", "with a deep name")[way]


def cut(random, data):
    at = random.choice((random.randrange(len(data)), random.randrange(min(len(data), 4096))))
    del data[at:]
    return f"cut at {at:#x}"


def blank(random, data):
    low = random.randrange(len(data))
    high = min(len(data), low + random.choice((16, 256, 4096, 65536)))
    data[low:high] = bytes([random.choice((0, 0xFF))]) * (high - low)
    return f"blank from {low:#x} to {high:#x}"


def copied(random, data):
    low, to = random.randrange(len(data)), random.randrange(len(data))
    size = min(random.choice((8, 64, 1024)), len(data) - max(low, to))
    data[to:to + size] = data[low:low + size]
    return f"{size} bytes of {low:#x} at {to:#x}"


def many_sections(random, data):
    """More sections than 16 bits hold, as the first one says."""
    start, = struct.unpack_from("<Q", data, 40)
    if not start:
        return None
    struct.pack_into("<H", data, 60, 0)
    value = extreme(random, 0, 8)
    struct.pack_into("<Q", data, start + 32, value)
    return f"{value:#x} sections"


ELF = (any_bytes, header, section_header, section_header, section_shares, segment, segment, table_entry, table_entry,
       unwind, unwind, unwind, note, strings, cut, blank, copied, many_sections)

# ---- of debug information ----------------------------------------------------------------------------------


def debug_sections(data, *names):
    return [section for section in sections(data) if section.size and not section.flags & COMPRESSED and
            (section.name in names if names else section.name.startswith((".debug_", ".gnu_debug")))]


def debug_bytes(random, data):
    found = debug_sections(data)
    if not found:
        return None
    section = random.choice(found)
    return f"{section.name} {flip(random, data, section.offset, section.offset + section.size, random.choice((1, 3, 16)))}"


def units(data, section):
    """Where the units of a section with lengths begin."""
    found, at = [], section.offset
    while at + 12 <= section.offset + section.size:
        length, = struct.unpack_from("<I", data, at)
        found.append(at)
        at += length + 4
    return found


def unit_header(random, data):
    found = debug_sections(data, ".debug_info", ".debug_line", ".debug_aranges", ".debug_rnglists", ".debug_loclists",
                           ".debug_str_offsets", ".debug_addr", ".debug_types", ".debug_names", ".debug_info.dwo",
                           ".debug_line.dwo", ".debug_rnglists.dwo", ".debug_str_offsets.dwo", ".debug_cu_index",
                           ".debug_pubnames", ".debug_frame")
    if not found:
        return None
    section = random.choice(found)
    offset, width = random.choice(((0, 4), (4, 2), (6, 1), (7, 1), (8, 4), (10, 1), (11, 1), (12, 4), (14, 2), (16, 1),
                                   (17, 1)))
    at = random.choice(units(data, section) or [section.offset]) + offset
    done = change(random, data, at, width)
    return done and f"{section.name} unit, byte {offset} {done}"


def abbreviations(random, data):
    found = debug_sections(data, ".debug_abbrev", ".debug_abbrev.dwo")
    if not found:
        return None
    section = random.choice(found)
    at = section.offset + random.randrange(section.size)
    forms = (0x01, 0x03, 0x08, 0x09, 0x0A, 0x0F, 0x10, 0x13, 0x16, 0x18, 0x19, 0x1A, 0x1F, 0x20, 0x21, 0x22, 0x23,
             0x1D, 0x1E, 0x1B)
    way = random.randrange(3)
    if way == 0:
        data[at] = random.choice(forms)
    elif way == 1:  # the attributes that names and lines come from
        data[at] = random.choice((0x01, 0x03, 0x0B, 0x11, 0x12, 0x20, 0x31, 0x47, 0x55, 0x58, 0x59, 0x6E, 0x10, 0x1B))
    else:
        return f"{section.name} {flip(random, data, section.offset, section.offset + section.size)}"
    return f"{section.name} byte {at:#x} = {data[at]:#x}"


def references(random, data):
    """Words of entries that become references to anywhere, themselves included: rings of origins and specifications."""
    found = debug_sections(data, ".debug_info", ".debug_info.dwo")
    if not found:
        return None
    section = random.choice(found)
    starts = units(data, section) or [section.offset]
    for _ in range(random.choice((1, 8, 64, 512))):
        at = section.offset + random.randrange(max(1, section.size - 4))
        unit = max(start for start in starts if start <= at)
        target = random.choice((at - unit, at - unit - 1, random.randrange(section.size), 11, 12, 0))
        struct.pack_into("<I", data, at, target & 0xFFFFFFFF)
    return f"references in {section.name}"


def numbers(random, data):
    """LEB128 numbers without an end."""
    found = debug_sections(data)
    if not found:
        return None
    section = random.choice(found)
    at = section.offset + random.randrange(section.size)
    size = min(random.choice((3, 9, 20, 4096)), section.offset + section.size - at)
    data[at:at + size] = bytes([random.choice((0x80, 0xFF, 0x81))]) * size
    return f"{section.name} endless number at {at:#x}"


def line_program(random, data):
    """Opcodes that move far, in many rows; advances that wrap around."""
    found = debug_sections(data, ".debug_line")
    if not found:
        return None
    section = random.choice(found)
    at = section.offset + random.randrange(section.size)
    high = section.offset + section.size
    text = random.choice((b"\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01", b"\x00\x09\x02" + random.randbytes(8),
                          b"\xff" * 300, b"\x01" * 300, b"\x03\xff\xff\xff\xff\xff\xff\xff\x7f\x01", b"\x00\xff\xff\x7f",
                          b"\x04\xff\xff\xff\xff\x0f\x01", b"\x09\xff\xff\x01", b"\x00\x01\x01" * 50))[:high - at]
    data[at:at + len(text)] = text
    return f".debug_line program at {at:#x}"


def compressed(random, data):
    """A compressed section that is to become larger than anything, or is none."""
    found = [section for section in sections(data) if section.flags & COMPRESSED and section.size > 24]
    if not found:
        return None
    section = random.choice(found)
    way = random.randrange(4)
    if way < 2:
        done = change(random, data, section.offset + (8, 0)[way], (8, 4)[way])
        return f"{section.name} {('size', 'kind')[way]} {done}"
    if way == 2:
        return f"{section.name} {flip(random, data, section.offset + 24, section.offset + section.size)}"
    done = change(random, data, section.offset + 16, 8)
    return f"{section.name} alignment {done}"


def link(random, data):
    """The name and the checksum of the file with the debug information."""
    found = debug_sections(data, ".gnu_debuglink", ".gnu_debugaltlink")
    if not found:
        return None
    section = random.choice(found)
    low, high = section.offset, section.offset + section.size
    text = random.choice((b"subject\0", b"../subject\0", b"/dev/zero\0", b".\0", b"..\0", b"\0", b"a" * 4096, b"%s%n\0",
                          b"/proc/self/mem\0", b"pipe\0"))[:high - low]
    data[low:low + len(text)] = text
    return f"{section.name} {text[:16]!r}"


def bomb(random, data):
    """A section that becomes a thousand times as large, as it says."""
    found = [section for section in sections(data) if section.size and section.name.startswith((".debug_", ".zdebug_"))]
    if not found:
        return None
    section = random.choice(found)
    inflated = random.choice((1 << 20, 1 << 26, 1 << 29))
    if inflated not in PACKED:
        PACKED[inflated] = zlib.compress(bytes(inflated), 9)
    payload = PACKED[inflated]
    if section.name.startswith(".zdebug_"):
        payload = b"ZLIB" + inflated.to_bytes(8, "big") + payload
    else:
        payload = struct.pack("<IIQQ", 1, 0, inflated, 1) + payload
        struct.pack_into("<Q", data, section.header + 8, section.flags | COMPRESSED)
    struct.pack_into("<QQ", data, section.header + 24, len(data) + 7 & ~7, len(payload))
    data += bytes(-len(data) % 8) + payload
    return f"{section.name} inflates to {inflated >> 20} MiB"


def split_name(random, data):
    """The name of the file with the rest of the debug information, and the directory."""
    places = [at for at in (data.find(b".dwo\0"), ) if at >= 0]
    if not places:
        return None
    low = data.rfind(b"\0", 0, places[0]) + 1
    high = places[0] + 4
    text = random.choice((b"pipe", b"/dev/zero", b"large", b"link", b".", b"../d/pipe", b"/dev/tty", b"/proc/kmsg", b"", b"subject"))
    text = text[:high - low]
    data[low:high] = text + bytes(high - low - len(text))
    return f"split file {text!r}"


PACKED = {}
DEBUG = (debug_bytes, debug_bytes, unit_header, unit_header, unit_header, abbreviations, abbreviations, references,
         numbers, line_program, line_program, compressed, compressed, bomb, split_name, link, section_header)


def mutate(random, seed, debug):
    """A damaged copy of the seed's bytes, and what was done."""
    data, said = bytearray(seed), []
    operators = DEBUG if debug else ELF
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        try:
            done = random.choice(operators)(random, data)
        except (struct.error, ValueError, IndexError, OverflowError):
            done = None  # the former operator has left no sound headers
        if done:
            said.append(done)
    if not said:
        said.append(any_bytes(random, data) if data else "empty")
    return bytes(data), "; ".join(said)
