# SPDX-License-Identifier: MIT
"""What `long` runs: real programs with varied options and inputs, most of them for 10 to 150 ms, and upstream test suites
taken apart into single tests. `all_cases(directory)` returns a list of Case; inputs lie in DIRECTORY/torture-inputs.

"{i}" in a command is the folder of inputs, "{s}" that of source packages. Commands run in an empty directory of their own.
A command is left out where its program, its input or its package is missing.
"""
import glob
import hashlib
import itertools
import json
import os
import random
import re
import shutil
import subprocess

# What a run costs natively and observed, about, as a multiple of that of a small C program: costly ones are drawn less often.
COSTS = {"cpython": 50, "python": 10, "node": 20, "coreutils-suite": 60, "bash": 4, "jq": 2, "jq-suite": 3, "dash": 2, "xz": 2, "sqlite": 2, "tar": 2, "pigz": 2}
PYTHON = "/usr/bin/python3"
PERL = "perl"


class Case:
    def __init__(self, group, command, stdin=None, keep=None):
        self.group = group
        self.command = command
        self.stdin = stdin      # name of an input, or None
        self.keep = keep        # only such lines of outputs are compared
        self.cost = COSTS.get(group) or COSTS.get(group.split("-")[0], 1)
        text = json.dumps([command, stdin])
        self.name = f"{group}-{hashlib.sha256(text.encode()).hexdigest()[:10]}"


def shell(group, script, stdin=None, interpreter="sh"):
    return Case(group, [interpreter, "-c", script], stdin)


# Inputs ----------------------------------------------------------------------------------------


def make_inputs(directory):
    """Deterministic ones, made once."""
    place = os.path.join(directory, "torture-inputs")
    if os.path.exists(os.path.join(place, ".complete")):
        return place
    os.makedirs(place, exist_ok=True)
    chance = random.Random(20)
    words = ["".join(chance.choices("etaoinshrdlucmfwypvbgk", k=chance.randint(1, 11))) for _ in range(3000)]
    text = "\n".join(" ".join(chance.choices(words, k=chance.randint(0, 14))) for _ in range(1500)) + "\n"
    rows = [(number, chance.choice(words), chance.randint(-5000, 5000), chance.random()) for number in range(3000)]
    records = [{"id": row[0], "name": row[1], "n": row[2], "x": round(row[3], 6), "tags": chance.sample(words, 3)} for row in rows[:500]]
    files = {
        "text": text, "small": text[:9000],
        "numbers": "".join(f"{chance.randint(-10**9, 10**9)}\n" for _ in range(4000)),
        "csv": "".join(f"{a},{b},{c},{d:.6f}\n" for a, b, c, d in rows),
        "sorted": "".join(sorted(line + "\n" for line in set(words))),
        "other": "".join(sorted(line + "\n" for line in set(words[::2]) | {"zz" + word for word in words[::7]})),
        "json": json.dumps(records), "lines.json": "".join(json.dumps(record) + "\n" for record in records),
        "pairs": "".join(f"{a} {b}\n" for a, b in ((chance.randint(0, 400), chance.randint(401, 900)) for _ in range(2000))),
        "program.c": "#include <stdio.h>\n" + "".join(
            f"static int f{n}(int a,int b){{int s=0;for(int i=0;i<a;i++)s+=(i*{n})^b;return s?s:f{n - 1 if n else n}(a-1,b);}}\n"
            for n in range(60)) + "int main(void){printf(\"%d\\n\",f59(30,7));}\n",
        "queries.sql": "create table t(id integer primary key,name text,n int,x real);\n.mode csv\n.import {i}/csv t\n",
    }
    for name, content in files.items():
        with open(os.path.join(place, name), "w", encoding="utf-8") as file:
            file.write(content.replace("{i}", place))
    with open(os.path.join(place, "binary"), "wb") as file:
        file.write(b"".join(read_some(path) for path in ("/usr/bin/perl", "/usr/bin/git", "/usr/bin/gdb"))[:200000])
    for suffix, command in (("gz", "gzip -n"), ("bz2", "bzip2"), ("xz", "xz"), ("zst", "zstd -q")):
        if shutil.which(command.split()[0]):
            for name in ("text", "binary"):
                subprocess.run(f"{command} -c <{name} >{name}.{suffix}", shell=True, cwd=place, check=True)
    subprocess.run("tar --sort=name --mtime=@0 -cf archive.tar text csv json program.c", shell=True, cwd=place, check=True)
    open(os.path.join(place, ".complete"), "w", encoding="utf-8").close()
    return place


def read_some(path):
    try:
        with open(path, "rb") as file:
            return file.read(70000)
    except OSError:
        return b""


# Programs at work ------------------------------------------------------------------------------


def coreutils():
    found = []

    def add(line, stdin=None):
        found.append(Case("coreutils", line.split(), stdin))

    for options in ("", "-r", "-n", "-u", "-f", "-R --random-source={i}/binary", "-g", "-h", "-V", "-k2", "-t, -k3n", "-t, -k2,2 -k4g", "-s -k1.3",
                    "--parallel=2 -S 1M", "--parallel=4 -S 200k", "-m {i}/sorted", "-c", "-z", "-b", "-d", "--debug -n"):
        for name in ("text", "numbers", "csv"):
            add(f"sort {options} {{i}}/{name}")
    for tool in ("md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "b2sum", "cksum", "cksum -a sm3", "sum", "sum -s", "base64",
                 "base32", "od", "od -x", "od -c", "od -A x -t f4", "wc", "wc -L", "tac", "nl", "nl -ba -s:", "fold -w 33", "fold -s", "fmt", "fmt -w 40",
                 "expand", "unexpand -a", "cat -A", "cat -n", "cat -s", "head -n -50", "tail -n +40", "tail -c 9999", "rev", "basenc --base16",
                 "pr -3", "pr -n", "ptx -w 60", "uniq -c", "uniq -d", "cut -c 3-9", "cut -d, -f2,4", "tr a-z A-Z", "tr -d aeiou", "tr -s a-z",
                 "tr -c a-z .", "split -n l/7 - part", "split -b 10k - part", "csplit -n 3 - 100 {9}", "shuf --random-source={i}/binary",
                 "shuf -n 9 --random-source={i}/binary", "dd bs=777", "dd bs=64k conv=ucase status=none", "tee copy", "hexdump -C", "xxd", "strings -n 6",
                 "column -t"):
        for name in ("text", "csv", "binary"):
            if not (name == "binary" and tool.split()[0] in ("fmt", "ptx", "column", "pr", "rev", "hexdump", "nl")):
                add(tool, name)
    for one, other in itertools.permutations(("sorted", "other"), 2):
        for tool in ("comm", "comm -12", "comm -3", "join", "join -a1", "join -v2", "paste", "paste -d, -s", "diff", "diff -u", "diff -y", "cmp", "diff3 {i}/sorted"):
            add(f"{tool} {{i}}/{one} {{i}}/{other}")
    for line in ("seq 1 40000", "seq -f %.3f 1 0.01 900", "seq -w 1 9000", "factor 1234567890123456789 99999999977 18446744073709551557",
                 "factor 1152921504606846883 340282366920938463463374607431768211457", "numfmt --to=iec 1 2048 99999999", "tsort {i}/pairs",
                 "ls -lR --time-style=+ /usr/share/perl5", "ls -laU /usr/lib/x86_64-linux-gnu --time-style=+", "du -a /usr/share/perl5/Debconf",
                 "find /usr/share/perl5 -name *.pm -size +8k", "find /usr/lib/python3 -type f -newermt 2000-01-01 -printf %s\\n",
                 "cp -r /usr/share/perl5/Debconf here", "cp --sparse=always {i}/binary here", "truncate -s 5M here", "date -u -d @1000000000",
                 "date -u -d 2024-02-30", "stat -c %s%F {i}/text", "printf %s,%q,%b\\n a b c", "expr 99 * 98 + 3", "pathchk -p /a/b/c", "realpath /usr/../bin",
                 "env -i A=1 env", "nice -n 1 true", "timeout 5 seq 9", "timeout -s KILL 0.05 sleep 9", "mktemp -u abc", "false", "test 3 -gt 4",
                 "install -m 600 {i}/small there", "sha256sum -c {i}/small", "dircolors -p", "nproc", "users", "id -u root", "yes --help", "stdbuf -oL seq 9",
                 "ls --color=always -C /usr/include", "ls -Z /nonexistent", "cat /nonexistent {i}/small", "mkdir -p a/b/c/d", "dd if=/dev/zero of=x bs=4k count=300 status=none"):
        add(line)
    return found


def text_tools():
    found = []
    for pattern in ("the", "^[a-m].*[n-z]$", "(ab|cd|ef).*g", "\\b\\w{9,}\\b", "[^a-z ]", "e.e.e", "(\\w)\\1"):
        for options in ("-c", "-n", "-o", "-vc", "-i", "-ic", "-w", "-A1 -B1", "-m5", "-b"):
            for kind in ("E", "P"):
                found.append(Case("grep", ["grep", f"-{kind}", *options.split(), pattern, "{i}/text"]))
    for script in ("s/a/b/g", "s/\\([a-z]*\\) \\([a-z]*\\)/\\2 \\1/", "/th/,/en/d", "y/abc/xyz/", "$!N;P;D", "n;d", "G", "1!G;h;$!d", "=", "s/[aeiou]//gw out",
                   ":a;s/^\\(.\\{1,30\\}\\)$/ \\1/;ta", "/^$/d;s/  */ /g", "10,20!d", "s/./&\\n/40;P;D", "l 30"):
        found.append(Case("sed", ["sed", script, "{i}/small" if script.startswith("1!G") else "{i}/text"]))
        found.append(Case("sed", ["sed", "-E", "-n", script + ";p" if ";" not in script else script, "{i}/small"]))
    for program in ("{n+=NF}END{print n}", "{c[$1]++}END{n=asorti_(c)}function asorti_(x,k,m){for(k in x)m++;print m}", "length>50", "NR%7==0{print NR,$0}",
                    "{for(i=NF;i;i--)printf \"%s \",$i;print \"\"}", "BEGIN{for(i=0;i<40000;i++)s+=sin(i);print s}", "{gsub(/[aeiou]/,\"#\");print}",
                    "BEGIN{while(i<8000)a[i++]=i*i;for(k=0;k<8000;k++)t+=a[k];print t}", "{print toupper(substr($0,3,20))|\"sort -u\"}",
                    "BEGIN{\"echo hello\"|getline x;print x;system(\"true\");print ENVIRON[\"TZ\"]}", "{print>\"out\"NR%5}", "BEGIN{printf \"%c%5.2f%x\\n\",65,3.14159,255;exit 3}",
                    "BEGIN{s=\"a\";for(i=0;i<17;i++)s=s s;print length(s),index(s,\"b\");print match(s,/a+$/)}", "{split($0,p,/[ ,]+/);n+=length(p)}END{print n}"):
        for tool in ("mawk", "gawk"):
            found.append(Case("awk", [tool, program, "{i}/text"]))
    return found


def compressors():
    found = []
    for tool, levels in (("gzip", "1 3 6 9"), ("bzip2", "1 5 9"), ("xz", "0 1 2"), ("zstd", "1 3 8 12"), ("pigz", "1 6 9")):
        for level, name in itertools.product(levels.split(), ("text", "binary", "json", "small")):
            if tool in ("xz", "bzip2") and name == "binary" and level != "1":
                continue
            options = [f"-{level}", "-c"] + (["-n"] if tool in ("gzip", "pigz") else [])
            found.append(Case(tool, [tool, *options, f"{{i}}/{name}"]))
            if tool in ("xz", "zstd"):
                found.append(Case(tool + "-threads", [tool, *options, "-T2"] + (["--block-size=65536"] if tool == "xz" else ["-B65536"]) + [f"{{i}}/{name}"]))
            if tool == "pigz":
                found.append(Case("pigz-threads", [tool, *options, "-p3", "-b", "128", f"{{i}}/{name}"]))
    for tool, suffix in (("gzip", "gz"), ("bzip2", "bz2"), ("xz", "xz"), ("zstd", "zst"), ("pigz", "gz")):
        for name in ("text", "binary"):
            found.append(Case(tool, [tool, "-dc", f"{{i}}/{name}.{suffix}"]))
            found.append(Case(tool, [tool, "-t", f"{{i}}/{name}.{suffix}"]))
            found.append(Case(tool, [tool, "-dc"], "small"))  # no such format
    for options in ("tf", "tvf", "xf", "xOf"):
        found.append(Case("tar", ["tar", options, "{i}/archive.tar", "--full-time"] if options == "tvf" else ["tar", options, "{i}/archive.tar"]))
    for letter in "zjJ":
        found.append(shell("tar", f"tar --sort=name --mtime=@0 --owner=0 --group=0 -c{letter}f a.tar -C {{i}} text json && tar -x{letter}f a.tar && cat text | cksum; rm text"))
    return found


def interpreters():
    found = []
    perl = ("my %h;$h{$_%977}.=$_ for 1..15000;my $l=0;$l+=length for values %h;print qq($l\\n)", "print join(q(,),sort{$a<=>$b}map{($_*7919)%10007}1..9000),qq(\\n)",
            "local $/;my $t=<STDIN>;my $n=()=$t=~/\\b(\\w+)\\b(?=.*\\n)/g;print qq($n\\n)", "while(<STDIN>){$c{lc $_}++ for split/\\W+/}print scalar(keys %c),qq(\\n)",
            "$SIG{ALRM}=sub{$n++};use Time::HiRes q(ualarm);ualarm(2000,2000);1 while $n<10;ualarm 0;print qq(done\\n)",
            "$SIG{USR1}=sub{$n++};for(1..300){kill USR1=>$$}print qq($n\\n)", "for(1..8){my $p=fork;if(!$p){exit $_}waitpid $p,0;print $?>>8,qq( )}",
            "pipe R,W;if(!fork){close R;print W $_,qq(\\n)for 1..2000;exit}close W;$s+=$_ while <R>;wait;print qq($s $?\\n)",
            "$SIG{CHLD}=sub{1 while waitpid(-1,1)>0;$d++};for(1..5){fork or exit 0}select undef,undef,undef,.01 until $d;print qq(ok\\n)", "eval{die{a=>1}};print ref $@;kill ABRT=>$$",
            "kill SEGV=>$$", "$SIG{__DIE__}=sub{print @_};die qq(gone\\n)", "print crypt(q(secret),q($6$abcdefgh)),qq(\\n)", "print pack(q(w*),1..5000)", "exec q(seq),q(9)",
            "use Digest::MD5 q(md5_hex);$x=md5_hex($x.$_)for 1..8000;print $x", "use POSIX;sigaction(SIGTRAP,POSIX::SigAction->new(sub{print qq(trap\\n)}));kill TRAP=>$$;print strftime(q(%F),gmtime 0)",
            "@a=map{[$_,rand]}1..6000;undef @a;print qq(freed\\n)", "my $s=q(a)x20000;$s=~s/(a)(?{$n++})/b/g;print $n", "print sprintf(q(%vd),q(1.22.333)),join q(,),map{hex}qw(ff 10)")
    found += [Case("perl", [PERL, "-e", program], "text" if "STDIN" in program else None) for program in perl]
    lua = ("local t={}for i=1,12000 do t[i]=(i*7919)%10007 end table.sort(t)print(t[1],t[12000])", "local s={}for i=1,6000 do s[#s+1]=string.format('%d:%x',i,i)end print(#table.concat(s))",
           "local function f(n)return n<2 and n or f(n-1)+f(n-2)end print(f(19))", "local n=0 for w in io.read('a'):gmatch('%a+')do n=n+#w end print(n)",
           "local c=coroutine.wrap(function()for i=1,8000 do coroutine.yield(i)end end)local s=0 for i=1,8000 do s=s+c()end print(s)",
           "for i=1,60 do collectgarbage() local t=setmetatable({},{__gc=function()end})end print(collectgarbage('count')>0)", "print(pcall(error,{1}))error('x',0)",
           "local t=setmetatable({},{__index=function(t,k)return k*2 end})local s=0 for i=1,30000 do s=s+t[i]end print(s)", "os.exit(7)", "print(string.rep('ab',50000):gsub('a',string.upper))",
           "print(os.execute('exit 3'))local p=io.popen('seq 50')print(#p:read('a'))p:close()", "local m={}for i=1,36 do m[i]={}for j=1,36 do local s=0 for k=1,36 do s=s+i*k+k*j end m[i][j]=s end end print(m[36][36])",
           "print(utf8.char(228,8364,128512),utf8.len('äöü'),math.tointeger(3.0),7//2,7.5%2,1<<40)", "local function d(n)return n==0 and 0 or 1+d(n-1)end print(d(15000),pcall(function()local function e()return 1+e()end return e()end))")
    found += [Case("lua", ["lua5.4", "-e", program], "text" if "io.read" in program else None) for program in lua]
    tcl = ("set s 0;for {set i 0} {$i<15000} {incr i} {incr s $i};puts $s", "foreach w [split [read stdin]] {incr c($w)};puts [array size c]", "puts [lsort -integer [lmap x [split [read stdin] \\n] {if {$x eq {}} continue;set x}]]",
           "after 5 {set d 1};vwait d;puts [exec seq 5]", "puts [regexp -all {[a-m]+} [read stdin]];exit 4", "proc f n {expr {$n<2?$n:[f [expr {$n-1}]]+[f [expr {$n-2}]]}};puts [f 17]")
    for program in tcl:
        number = len([case for case in found if case.group == "tcl"])
        found.append(shell("tcl", f"cat >p{number}.tcl <<'X'\n{program}\nX\nexec tclsh p{number}.tcl <{{i}}/{'numbers' if 'integer' in program else 'text'}"))
    for size in (20, 100, 250):
        found += [shell("bc", f"echo 'scale={size};4*a(1);e(1);sqrt(2)' | bc -lq"), shell("bc", f"echo '2^{size * 20} % 1000007;define f(n){{if(n<2)return 1;return n*f(n-1)}};f({size})' | bc -q")]
    for program in ("do i=1 to 6000;s=s+i//7;end;say s", "do i=1 to 4000;a.i=i*i;end;say a.77 length(copies('ab',9999))", "say date('B','20200101','S') x2d('ff') reverse('abc');exit 5", "parse value 'a b c' with x y;say x'|'y;signal on syntax;say 1/0;syntax: say 'caught' rc"):
        found.append(shell("rexx", f"printf '/* */ s=0\\n%s\\n' \"{program}\" >p.rexx; exec rexx ./p.rexx"))
    for program in ("let s=0;for(let i=0;i<2e6;i++)s+=i%7;console.log(s)", "console.log(JSON.stringify([...Array(2e4).keys()].map(x=>({x}))).length)", "process.on('SIGUSR2',()=>{console.log('s');process.exit(3)});process.kill(process.pid,'SIGUSR2');setTimeout(()=>{},2000)",
                    "const{Worker,isMainThread:m}=require('worker_threads');let w=new Worker('let s=0;for(let i=0;i<1e6;i++)s+=i;require(\"worker_threads\").parentPort.postMessage(s)',{eval:true});w.on('message',x=>console.log(x))",
                    "console.log(require('child_process').execFileSync('seq',['9'])+'')", "console.log(require('zlib').gzipSync(Buffer.alloc(1e6,'abc')).length>0,require('crypto').createHash('sha256').update('x').digest('hex'))", "setTimeout(()=>{throw new Error('x')},2)", "process.abort()"):
        found.append(Case("node", ["node", "-e", program], keep=r"^(?!.*(\[|0x|    at |Node\.js)).*$"))
    return found


def python():
    programs = ("print(sum(i*i for i in range(100000)))", "import sys,re;print(len(re.findall(r'\\b\\w+e\\b',sys.stdin.read())))", "import json,sys;d=json.load(open('{i}/json'));print(sum(r['n'] for r in d),len(json.dumps(d,indent=1)))",
                "import threading as t;r=[];a=[t.Thread(target=lambda n=n:r.append(sum(range(n*9000))))for n in range(8)];[x.start()for x in a];[x.join()for x in a];print(sorted(r))",
                "import signal,time;n=[];signal.signal(signal.SIGALRM,lambda *a:n.append(1));signal.setitimer(signal.ITIMER_REAL,.002,.002)\nwhile len(n)<12:pass\nprint('ok')",
                "import signal;n=[];signal.signal(signal.SIGPROF,lambda *a:n.append(1));signal.setitimer(signal.ITIMER_PROF,.002,.002)\nwhile len(n)<6:pass\nprint('ok')",
                "import signal,os;n=[];signal.signal(signal.SIGTRAP,lambda *a:n.append(1))\nfor i in range(50):os.kill(os.getpid(),5)\nprint(len(n))", "import os\nfor i in range(9):\n p=os.fork()\n if not p:os._exit(i)\n print(os.waitpid(p,0)[1]>>8)",
                "import subprocess as s;print([s.run(['sh','-c',f'exit {i}']).returncode for i in range(6)],s.check_output('echo a|tr a b',shell=True))", "import mmap;m=mmap.mmap(-1,1<<21);m[:]=bytes(1<<21);print(m.find(b'x'));m.close()",
                "import ctypes;ctypes.string_at(0)", "import os;os.abort()", "import sys;sys.exit(9)", "raise KeyError(3)", "import hashlib;print(hashlib.sha256(bytes(9000000)).hexdigest())", "import zlib,lzma,bz2;d=open('{i}/text','rb').read();print(len(zlib.compress(d)),len(bz2.compress(d)))",
                "import sqlite3;c=sqlite3.connect(':memory:');c.execute('create table t(a,b)');c.executemany('insert into t values(?,?)',((i,i%7)for i in range(20000)));print(c.execute('select b,sum(a)from t group by b').fetchall())",
                "import asyncio\nasync def f(n):\n await asyncio.sleep(.001*n)\n return n\nprint(asyncio.run(asyncio.wait_for(asyncio.gather(*map(f,range(9))),5))) if 0 else print(asyncio.run(f(3)))",
                "import concurrent.futures as c;print(sum(c.ThreadPoolExecutor(4).map(lambda n:sum(range(n)),range(0,60000,3000))))", "import multiprocessing as m\nif __name__=='__main__':\n with m.get_context('fork').Pool(2)as p:print(p.map(abs,range(-9,9)))",
                "import sys;sys.setrecursionlimit(9000)\ndef f(n):return n and 1+f(n-1)\nprint(f(5000))", "def f():f()\ntry:f()\nexcept RecursionError:print('deep')", "import pickle,copy;d={i:[i]*9 for i in range(9000)};print(len(pickle.dumps(d)),copy.deepcopy(d)==d)",
                "import decimal as d;d.getcontext().prec=400;print(d.Decimal(2).sqrt())", "import random;random.seed(4);a=[random.random()for _ in range(40000)];print(sum(sorted(a)[:9]))", "import gc;a=[[]for _ in range(90000)];[x.append(x)for x in a];del a;print(gc.collect()>0)",
                "import faulthandler,os;faulthandler.enable();os.kill(os.getpid(),7)", "import socket as s;a,b=s.socketpair();a.sendall(b'x'*50000);print(len(b.recv(9,64)))", "import select,os;r,w=os.pipe();p=select.poll();p.register(r,1);print(p.poll(3));os.write(w,b'1');print(len(p.poll(3)))",
                "import difflib;a=open('{i}/sorted').read().split()[:700];print(sum(1 for _ in difflib.unified_diff(a,a[::-1])))", "import time;t=time.process_time()\nwhile time.process_time()-t<.08:sum(range(500))\nprint('burnt')")
    return [Case("python", [PYTHON, "-c", program], "text" if "sys.stdin" in program else None,
                 keep=r"^(?!.*(0x[0-9a-f]{6})).*$" if "faulthandler" in program else None) for program in programs]


def databases():
    found = []
    queries = ("select count(*),sum(n),avg(x) from t", "select name,count(*) c from t group by name order by c desc,name limit 20", "create index i on t(name);select * from t where name like 'ab%' order by id", "select a.id,b.id from t a join t b on a.n=b.n and a.id<b.id order by 1,2 limit 50",
               "with recursive c(x)as(values(1)union all select x+1 from c where x<15000)select sum(x)from c", "update t set n=n+1 where id%3=0;select total(n)from t;delete from t where n>0;select count(*)from t;vacuum", "select n,row_number()over(order by n,id),sum(n)over(partition by id%5 order by id)from t limit 99",
               "pragma integrity_check", "begin;insert into t select id+100000,name,n,x from t;rollback;select count(*)from t", "select json_group_array(json_object('a',n))from(select n from t limit 200)", "select group_concat(distinct substr(name,1,1))from(select name from t order by name)", "select hex(zeroblob(90)),printf('%.3f',3.14159),abs(-3)", "explain query plan select * from t where id=4", "select nosuch from t")
    for query in queries:
        found.append(shell("sqlite", f"sqlite3 -bail data.db \".read {{i}}/queries.sql\" \"{query}\""))
        found.append(shell("sqlite", f"(cat {{i}}/queries.sql; echo \"{query};\") | sqlite3"))
    filters = (".[]|.n", "map(.n)|add", "group_by(.n%10)|map(length)", "sort_by(.x)|.[0:5]", "[.[]|select(.n>0)|.name]|unique|length", "map({(.name):.id})|add|keys|length", "[.[]|.tags[]]|group_by(.)|map([.[0],length])|max_by(.[1])", "reduce .[] as $r (0;.+$r.n)", "[paths]|length", "tostring|length",
               "map(.name|test(\"^a\"))|map(select(.))|length", "[limit(5;.[]|.x*2|floor)]", ".[0]|to_entries", "[.[]|.name|ascii_upcase|explode|implode]|length", "@base64|length", "map(.n|if .<0 then -. else . end)|max", ".[].nosuch?.deep", ".[0]|error", "input", "map(try error(\"x\") catch .)|unique")
    for query in filters:
        found.append(Case("jq", ["jq", "-c", query, "{i}/json"]))
        found.append(Case("jq", ["jq", "-s", "-S", query], "lines.json"))
    return found


def shells():
    found = []
    scripts = ("for i in 1 2 3 4 5 6 7 8; do echo $i | tr 1-4 a-d; done", "x=0; while [ $x -lt 700 ]; do x=$((x+1)); done; echo $x", "seq 1 3000 | sort -rn | head -3 | tac | md5sum", "(sleep 0.01; echo late) & wait; echo done", "trap 'echo usr1' USR1; kill -USR1 $$; echo after", "trap 'echo bye' EXIT; exit 5", "kill -SEGV $$", "kill -TRAP $$",
               "sh -c 'kill -KILL $$'; echo $?", "f() { [ $1 -eq 0 ] || f $(($1 - 1)); }; f 300; echo deep", "cat <<X | wc -l\n$(seq 1 400)\nX", "for i in $(seq 15); do (exit $i); printf '%s ' $?; done", "yes | head -n 2000 | cksum", "seq 60 | xargs -n 5 -P 2 echo | wc -l", "ulimit -n 20; seq 5 | cat | cat", "exec 3<{i}/small; read -r a <&3; echo \"$a\"; exec 3<&-",
               "mkfifo p; (cat {i}/small >p &) ; wc -c <p", "set -e; false; echo never", "find {i} -name 'te*' -exec basename {} \\; | sort", "for f in {i}/*; do [ -f \"$f\" ] && head -c 100 \"$f\" | cksum; done", "time_out() { timeout 0.02 sleep 5; echo $?; }; time_out; time_out", "env -i sh -c 'echo $PWD; exit 2'; echo $?", "nohup seq 3 2>/dev/null; setsid -w seq 3; nice seq 3", "git init -q . && git -c user.name=a -c user.email=b commit -q --allow-empty -m x --date=@0 && git log --format=%s",
               "cp {i}/program.c . && gcc -O1 -c program.c && nm program.o | wc -l", "gcc -x c - -o a <<X\nint main(){return 7;}\nX\n./a; echo $?", "printf 'all: a b\\na b:\\n\\t@echo made $@\\n' >Makefile; make -s -j2 | sort", "openssl dgst -sha512 {i}/binary | sed 's/.*= //'", "openssl enc -aes-128-cbc -pbkdf2 -S 0011223344556677 -pass pass:x -in {i}/text | cksum",
               "diff <(seq 99) <(seq 2 100) | wc -l", "coproc cat; echo hi >&${COPROC[1]}; read -r x <&${COPROC[0]}; echo $x", "a=(); for i in {1..900}; do a+=($i); done; echo ${#a[@]} ${a[899]}", "s=; for i in {1..800}; do s+=$i; done; echo ${#s} ${s//1/x} | cksum", "[[ abc =~ ^(a)(.*)$ ]] && echo ${BASH_REMATCH[2]}; printf -v t '%05d' 42; echo $t", "declare -A m; for w in $(head -60 {i}/small); do m[$w]=1; done; echo ${#m[@]}", "trap 'echo chld' CHLD; (exit 3) & wait $!; echo $?", "wait -n < <(sleep 0.01) ; echo $?", "ctags -f - {i}/program.c | wc -l", "lsof -p $$ -Fc | tail -1 | cut -c 2-", "python3 -c 'import os; os.execvp(\"perl\", [\"perl\", \"-e\", \"exec q(seq), 4\"])'",
               "objdump -d {i}/nosuch; readelf -hW /usr/bin/make | head -3; nm -D /usr/bin/make | wc -l", "strace -f -o /dev/null seq 3", "strace -c -o /dev/null true; echo $?", "gdb -q -nx -batch -ex run -ex 'print $_exitcode' --args seq 2 2>/dev/null | tail -1", "setarch -R seq 2", "prlimit --nproc=4000 seq 2", "xargs -a {i}/sorted -n 200 echo | wc", "ls /usr/bin/[a-c]* | wc -l; echo *")
    for script in scripts:
        bash_only = any(word in script for word in ("<(", "coproc", "+=", "[[", "declare", "CHLD", "wait -n"))
        found.append(shell("bash", script, interpreter="bash"))
        if not bash_only:
            found.append(shell("dash", script, interpreter="dash"))
    return found


# Upstream test suites --------------------------------------------------------------------------

PYTHON_SUITES = ["test_signal", "test_threading", "test_subprocess", "test_mmap", "test_os", "test_posix", "test_thread", "test_threading_local", "test_threadsignals", "test_fork1", "test_wait3",
                 "test_wait4", "test_popen", "test_pty", "test_select", "test_selectors", "test_poll", "test_epoll", "test_queue", "test_sched", "test_faulthandler", "test_resource", "test_exceptions",
                 "test_generators", "test_contextlib", "test_heapq", "test_struct", "test_zlib", "test_bz2", "test_lzma", "test_sqlite3", "test_ctypes", "test_io", "test_eintr", "test_atexit",
                 "test_concurrent_futures", "test_setcomps", "test_memoryview", "test_gc", "test_weakref"]
NOT_STEADY = re.compile(r"timeout|timing|clock|getloadavg|loadavg|stress|bigmem|randomized|resource_warning|test_keyboard|urandom|time_ns|network|refleak")

LIST_TESTS = """
import sys, unittest
def walk(suite):
    for one in suite:
        if isinstance(one, unittest.TestSuite): yield from walk(one)
        else: yield one.id()
for name in sys.argv[1:]:
    try:
        for one in walk(unittest.defaultTestLoader.loadTestsFromName('test.' + name)):
            if 'FailedTest' not in one: print(one)
    except Exception: pass
"""


def python_suites(directory):
    """Single tests of CPython's own suite; the list is made once."""
    path = os.path.join(directory, "torture-inputs", "python-tests")
    if not os.path.exists(path):
        done = subprocess.run([PYTHON, "-c", LIST_TESTS, *PYTHON_SUITES], capture_output=True, text=True, check=False)
        with open(path, "w", encoding="utf-8") as file:
            file.write(done.stdout)
    with open(path, encoding="utf-8") as file:
        names = [name for name in file.read().split() if name.startswith("test.test_") and not NOT_STEADY.search(name)]
    keep = r"^(OK|FAILED|ERROR|Fatal|.*\.\.\. )"
    return [Case("cpython-" + name.split(".")[1], [PYTHON, "-m", "unittest", "-v", name], keep=keep) for name in names]


def jq_suite(directory):
    """Each program, input and expected outputs of jq's own tests, as a run of jq."""
    found = []
    for path in sorted(glob.glob(os.path.join(directory, "jq", "tests", "*.test"))):
        with open(path, encoding="utf-8", errors="replace") as file:
            blocks = re.split(r"\n\s*\n", "\n".join(line for line in file.read().split("\n") if not line.startswith("#")))
        for block in blocks:
            lines = block.strip("\n").split("\n")
            if len(lines) >= 3 and not lines[0].startswith("%%FAIL"):
                found.append(Case("jq-suite", ["sh", "-c", 'printf "%s\\n" "$2" | jq -c "$1"', "sh", lines[0], lines[1]]))
    return found


def bzip2_suite(_directory):
    """The samples of bzip2's own test, with its options."""
    found = []
    for number, options in ((1, "-1"), (2, "-2"), (3, "-3")):
        found += [Case("bzip2-suite", ["bzip2", options, "-c", f"{{s}}/bzip2/sample{number}.ref"]),
                  Case("bzip2-suite", ["bzip2", "-d" + ("s" if number == 3 else ""), "-c", f"{{s}}/bzip2/sample{number}.bz2"])]
    return found


def coreutils_suite(directory):
    """Tests of coreutils that a table drives, each some hundreds of runs of one tool, held to their expected outputs."""
    tests = os.path.join(directory, "coreutils", "tests")
    found = []
    for path in sorted(glob.glob(os.path.join(tests, "*", "*.pl"))):
        script = ('export srcdir=$1 top_srcdir=$1 abs_srcdir=$1 abs_top_srcdir=$1 built_programs="$(ls /usr/bin)" PERL=perl LC_ALL=C VERSION=9.1 CONFIG_HEADER=/dev/null '
                  'host_os=linux-gnu AWK=awk MALLOC_PERTURB_=; exec 9>&2; exec perl -w -I$1/tests -MCuSkip -MCoreutils "-MCuTmpdir qw($(basename $2))" $2')
        found.append(Case("coreutils-suite", ["sh", "-c", script, "sh", os.path.join(directory, "coreutils"), path]))
    return found


def available(case, inputs, sources):
    """The case with its places filled in, or None where something that it names is missing."""
    case.command = [word.replace("{i}", inputs).replace("{s}", sources) for word in case.command]
    if not shutil.which(case.command[0]):
        return None
    return case if not case.stdin or os.path.exists(os.path.join(inputs, case.stdin)) else None


def all_cases(directory):
    inputs = make_inputs(directory)
    cases = coreutils() + text_tools() + compressors() + interpreters() + python() + databases() + shells()
    cases += python_suites(directory) + jq_suite(directory) + bzip2_suite(directory) + coreutils_suite(directory)
    found = {}
    for case in cases:
        if available(case, inputs, directory):
            found[case.name] = case
    return list(found.values())
