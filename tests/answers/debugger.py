# SPDX-License-Identifier: MIT
"""What gdb shows of variables where a program stops: for tests and benchmarks of `headroom map`.

Stop points are read with llvm-dwarfdump, not with headroom, so that both can be set against each other.
"""
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROW = re.compile(r'(0x[0-9a-f]{16})\s+(\d+)\s+(\d+)\s+(\d+)\s+\d+\s+\d+(?:\s+\d+)?\s*(.*)')


def dwarfdump():
    for name in ['llvm-dwarfdump', 'llvm-dwarfdump-19', 'llvm-dwarfdump-16', 'llvm-dwarfdump-14']:
        if shutil.which(name):
            return name
    return None


def stop_points(binary):
    """{(base name of file, line): [addresses]} at which a debugger stops and shows that line. An address at which several
    rows begin shows the last of them; one whose line was shown by the stop point before it begins no statement."""
    text = subprocess.run([dwarfdump(), '--debug-line', binary], capture_output=True, text=True, check=True).stdout
    found, files, number = collections.defaultdict(list), {}, None
    rows = []

    def flush():
        last, shown = None, {}
        order = []
        for address, line, file in rows:
            if address not in shown:
                order.append(address)
            shown[address] = (files.get(file, '?'), line)
        for address in order:
            if shown[address] != last:
                found[shown[address]].append(address)
            last = shown[address]
        rows.clear()

    for line in text.splitlines():
        head = re.match(r'file_names\[\s*(\d+)\]', line)
        if line.startswith('debug_line['):
            files = {}
        elif head:
            number = int(head.group(1))
        elif re.match(r'\s+name:\s', line):
            files[number] = os.path.basename(re.search(r'"(.*)"', line).group(1))
        else:
            row = ROW.match(line)
            if row:
                if 'end_sequence' in row.group(5):
                    flush()
                elif 'is_stmt' in row.group(5) and int(row.group(2)):
                    rows.append((int(row.group(1), 16), int(row.group(2)), int(row.group(4))))
    return found


def code_of_lines(binary, file):
    """{line: {address}}: all bytes of code that come from each line of the file, by its base name."""
    text = subprocess.run([dwarfdump(), '--debug-line', binary], capture_output=True, text=True, check=True).stdout
    found, files, number, last = collections.defaultdict(set), {}, None, None
    for line in text.splitlines():
        head = re.match(r'file_names\[\s*(\d+)\]', line)
        row = ROW.match(line)
        if line.startswith('debug_line['):
            files, last = {}, None
        elif head:
            number = int(head.group(1))
        elif re.match(r'\s+name:\s', line):
            files[number] = os.path.basename(re.search(r'"(.*)"', line).group(1))
        elif row:
            address = int(row.group(1), 16)
            if last and files.get(last[1]) == file:
                found[last[2]].update(range(last[0], address))
            last = None if 'end_sequence' in row.group(5) else (address, int(row.group(4)), int(row.group(2)))
    return {line: code for line, code in found.items() if line and code}


def main_address(binary):
    for line in subprocess.run(['nm', binary], capture_output=True, text=True, check=True).stdout.splitlines():
        words = line.split()
        if len(words) == 3 and words[2] == 'main':
            return int(words[0], 16)
    raise SystemExit(f'{binary}: no main')


def watch(binary, arguments, wanted, stdin=None, limit=2000, timeout=250):
    """wanted: {key: (addresses, names)}. Returns {key: [[address, {name: value or None}], ...]}, a stop each, in order; at most
    `limit` of a key. A value is a number, None if gdb has none ("<optimized out>")."""
    with tempfile.TemporaryDirectory() as directory:
        order, result = os.path.join(directory, 'order'), os.path.join(directory, 'result')
        keys = list(wanted)
        with open(order, 'w', encoding='utf-8') as out:
            json.dump({'main': main_address(binary), 'limit': limit, 'result': result,
                       'arguments': arguments, 'stdin': stdin,
                       'places': [[wanted[key][0], wanted[key][1]] for key in keys]}, out)
        environment = dict(os.environ, HEADROOM_STOPS=order, DEBUGINFOD_URLS='', LC_ALL='C')
        done = subprocess.run(['gdb', '-nx', '-batch', '-x', os.path.abspath(__file__), binary],
                              env=environment, capture_output=True, text=True, timeout=timeout,
                              stdin=subprocess.DEVNULL, check=False)
        if not os.path.exists(result):
            raise SystemExit(f'gdb failed on {binary}: {done.stdout[-500:]}{done.stderr[-1500:]}')
        with open(result, encoding='utf-8') as text:
            return dict(zip(keys, json.load(text)))


def inside_gdb():
    import gdb  # pylint: disable=import-error
    with open(os.environ['HEADROOM_STOPS'], encoding='utf-8') as text:
        order = json.load(text)
    seen = [[] for _ in order['places']]

    def value_of(name):
        try:
            value = gdb.parse_and_eval(name)
            if value.is_optimized_out:
                return None
            return float(value) if value.type.strip_typedefs().code == gdb.TYPE_CODE_FLT else int(value)
        except gdb.error:
            return None

    class Stop(gdb.Breakpoint):
        def __init__(self, address, static, place, names):
            super().__init__(f'*{address}', internal=True)
            self.static, self.place, self.names = static, place, names

        def stop(self):
            if len(seen[self.place]) < order['limit']:
                seen[self.place].append([self.static, {name: value_of(name) for name in self.names}])
            else:
                self.enabled = False
            return False

    for setting in ['pagination off', 'confirm off', 'width 0', 'startup-with-shell on', 'auto-load no',
                    'disable-randomization on']:
        gdb.execute('set ' + setting, to_string=True)
    redirect = f' < {order["stdin"]}' if order['stdin'] else ' < /dev/null'
    words = ' '.join("'" + word.replace("'", "'\\''") + "'" for word in order['arguments'])
    gdb.execute(f'starti {words}{redirect} > /dev/null 2>&1', to_string=True)
    shift = int(gdb.parse_and_eval('(unsigned long) &main')) - order['main']
    for place, (addresses, names) in enumerate(order['places']):
        for address in addresses:
            Stop(address + shift, address, place, names)
    gdb.execute('continue', to_string=True)
    with open(order['result'] + '.new', 'w', encoding='utf-8') as out:
        json.dump(seen, out)
    os.rename(order['result'] + '.new', order['result'])
    gdb.execute('kill', to_string=True)


if __name__ == '__main__' and 'gdb' in sys.modules:
    try:
        inside_gdb()
    except Exception as error:  # gdb would go on, and ask
        print(f'{type(error).__name__}: {error}', file=sys.stderr)
