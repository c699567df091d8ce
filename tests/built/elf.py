# SPDX-License-Identifier: MIT
"""As much of ELF as tests need: sections, symbols, bytes by address."""
import struct
from collections import namedtuple

Section = namedtuple("Section", "name kind flags address offset size link entry_size")
Symbol = namedtuple("Symbol", "name value size kind section")
FUNCTION, ALLOCATED, WRITABLE, LINK_ORDER = 2, 2, 1, 128
NO_BITS, RELA, DYNAMIC = 8, 4, 6


class File:
    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        assert self.data[:6] == b"\x7fELF\x02\x01", f"{path} is no ELF file of 64 bits"
        start, = struct.unpack_from("<Q", self.data, 40)
        size, count, names = struct.unpack_from("<HHH", self.data, 58)
        if not count:
            count, = struct.unpack_from("<Q", self.data, start + 32)
        raw = [struct.unpack_from("<IIQQQQIIQQ", self.data, start + i * size) for i in range(count)]
        table = raw[names][4]
        self.sections = [Section(self.text(table + r[0]), r[1], r[2], r[3], r[4], r[5], r[6], r[9]) for r in raw]

    def text(self, offset):
        return self.data[offset:self.data.index(b"\0", offset)].decode()

    def named(self, name):
        return [section for section in self.sections if section.name == name]

    def symbols(self):
        found = []
        for section in self.named(".symtab"):
            strings = self.sections[section.link].offset
            for at in range(section.offset, section.offset + section.size, 24):
                name, info, _, where, value, size = struct.unpack_from("<IBBHQQ", self.data, at)
                found.append(Symbol(self.text(strings + name), value, size, info & 15, where))
        return found

    def functions(self):
        return [s for s in self.symbols() if s.kind == FUNCTION and s.section and s.section < 0xff00]

    def at(self, address, size):
        """Bytes of an executable or library by address; of what has none, b""."""
        for section in self.sections:
            if section.flags & ALLOCATED and section.kind != NO_BITS and \
                    section.address <= address < section.address + section.size:
                start = section.offset + address - section.address
                return self.data[start:start + min(size, section.address + section.size - address)]
        return b""

    def string(self, address):
        text = self.at(address, 4096)
        return text[:text.index(b"\0")].decode() if b"\0" in text else None

    def relocated(self):
        """Addresses that the loader changes."""
        return [struct.unpack_from("<Q", self.data, at)[0] for section in self.sections
                if section.kind == RELA and section.flags & ALLOCATED
                for at in range(section.offset, section.offset + section.size, 24)]
