#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Names of functions of languages that mangle them.

load common

@test "Rust: names are readable, whichever way they are mangled" {
    command -v rustc >/dev/null || skip "no rustc"
    needs_engine
    cat >rusty.rs <<'R'
mod shapes {
    pub struct Square(pub u64);
    impl Square {
        #[inline(never)]
        pub fn rewrite(&mut self, n: u64) {
            for i in 0..n { unsafe { std::ptr::write_volatile(&mut self.0, i) } }
        }
    }
    #[inline(never)]
    pub fn generic<T: Copy>(at: &mut T, value: T, n: u64) {
        for _ in 0..n { unsafe { std::ptr::write_volatile(at, value) } }
    }
}
fn main() {
    let mut square = shapes::Square(1);
    square.rewrite(200000);
    let mut other = 0u64;
    shapes::generic(&mut other, 3u64, 100000);
    println!("{}", square.0 + other);
}
R
    for scheme in legacy v0; do
        # Of some versions one of them is to be had with this option only.
        RUSTC_BOOTSTRAP=1 rustc -g -O -Z unstable-options -C symbol-mangling-version=$scheme -o rusty rusty.rs ||
            skip "this rustc cannot choose how names are mangled"
        strip --strip-debug -o bare rusty
        for program in rusty bare; do
            "$HEADROOM" waste --exact -q --kinds dead -o profile -- ./$program >printed
            "$HEADROOM" report --format json profile >json
            python3 - $scheme $program <<'P'
import json, re, sys
scheme, program = sys.argv[1:]
first, second = json.load(open("json"))["waste"]["dead"]["findings"][:2]
names = {"legacy": ["rusty::shapes::Square::rewrite", "rusty::shapes::generic"],
         "v0": ["<rusty::shapes::Square>::rewrite", "rusty::shapes::generic::<u64>"]}[scheme]
for finding, name, share in (first, names[0], 2 / 3), (second, names[1], 1 / 3):
    functions = [frame["function"] for frame in finding["first"]]
    assert name in functions[:2], functions
    assert "rusty::main" in functions, functions
    assert abs(finding["share"] - share) < 0.03, finding["share"]
    # What is left of a mangled name, or its hash.
    assert not any(re.search(r"\b_ZN|\b_R[A-Z]|\bh[0-9a-f]{16}\b", f or "") for f in functions), functions
P
        done
    done
}

# Names and lines of Go, with debug information and without; both are the same.
@test "Go: a stripped program has its functions and lines, position-independent or not" {
    command -v go >/dev/null || skip "no go"
    needs_engine
    export GOCACHE=$PWD/cache GO111MODULE=off GOFLAGS=
    cat >hot.go <<'G'
package main

import "os"

type cell struct{ a, b int64 }

//go:noinline
func (c *cell) rewrite(turns int64) {
	for i := int64(0); i < turns; i++ {
		c.a = i
	}
}

func main() {
	c := &cell{}
	done := make(chan bool)
	go func() {
		c.rewrite(200000)
		done <- true
	}()
	<-done
	if c.a != 199999 {
		os.Exit(3)
	}
}
G
    go build -o whole hot.go
    go build -ldflags '-s -w' -o bare hot.go
    go build -buildmode=pie -ldflags '-s -w' -o moved hot.go
    readelf -SW bare | grep -q ' \.debug_info\| \.symtab' && return 1
    for program in whole bare moved; do
        "$HEADROOM" waste --exact -q --kinds dead -o profile -- ./$program
        "$HEADROOM" report --format json profile >json
        python3 - <<'P'
import json, os
report = json.load(open("json"))
dead = report["waste"]["dead"]
finding = dead["findings"][0]
for end in "first", "second":
    leaf = finding[end][0]
    assert leaf["function"] == "main.(*cell).rewrite", leaf
    assert os.path.basename(leaf["file"]) == "hot.go" and leaf["line"] == 10, leaf
# 199,999 stores of 8 bytes to the heap, which lies at 768 GiB.
assert abs(finding["share"] * dead["waste_bytes"] - 8 * 199999) < 8 * 300, (finding["share"], dead["waste_bytes"])
assert report["exact"]["unseen"] == 0 and not any("symbols" in text for text in report["degraded"]), report["degraded"]
P
    done
}
