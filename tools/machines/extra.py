# SPDX-License-Identifier: MIT
"""Instruction forms that llvm-exegesis leaves out, as assembly: it takes one condition of each conditional instruction, no branches,
nothing that moves the stack pointer, no high bytes, one addressing mode of lea, and few of the x87's."""

CONDITIONS = "o no b ae e ne be a s ns p np l ge le g".split()
X87_TWO = "fadd fsub fsubr fmul fdiv fdivr".split()
X87_POP = "faddp fsubp fsubrp fmulp fdivp fdivrp".split()
X87_MOVES = "fcmovb fcmove fcmovbe fcmovu fcmovnb fcmovne fcmovnbe fcmovnu".split()
X87_COMPARES = "fcomi fcompi fucomi fucompi".split()
STRING = "movsb movsw movsl movsq stosb stosw stosl stosq lodsb lodsw lodsl lodsq scasb scasw scasl scasq cmpsb cmpsw cmpsl cmpsq"
STACK = """pushq %rax
pushw %ax
pushq $5
pushq $500
pushq (%rax)
pushw (%rax)
popq %rax
popw %ax
popq (%rax)
pushfq
popfq
leave
enter $16, $0
ret
ret $8
call .L0
call *%rax
call *(%rax)
jmp .L0
jmp *%rax
jmp *(%rax)
jrcxz .L0
jecxz .L0
loop .L0
loope .L0
loopne .L0"""
OTHER = """nop
nopw (%rax)
nopl (%rax)
nopw %ax
nopl %eax
pause
endbr64
cld
std
xlatb
vzeroupper
vzeroall
emms
cpuid
rdtsc
rdtscp
syscall
ud2
mfence
lfence
sfence
xgetbv
movabsq $81985529216486895, %rax
movq $5, %rax
movq %rax, %fs:0
movq %fs:0, %rax
movl %fs:0, %eax
movq %xmm1, %rax
xchgq %rax, (%rbx)
xchgl %eax, (%rbx)
xchgw %ax, (%rbx)
xchgb %al, (%rbx)
lock addl %eax, (%rbx)
lock addq %rax, (%rbx)
lock addl $1, (%rbx)
lock addq $1, (%rbx)
lock subl $1, (%rbx)
lock subq $1, (%rbx)
lock orl $1, (%rbx)
lock orq $1, (%rbx)
lock orb $1, (%rbx)
lock andl $1, (%rbx)
lock incl (%rbx)
lock incq (%rbx)
lock decl (%rbx)
lock decq (%rbx)
lock xaddl %eax, (%rbx)
lock xaddq %rax, (%rbx)
lock cmpxchgl %ecx, (%rbx)
lock cmpxchgq %rcx, (%rbx)
lock cmpxchg16b (%rbx)
fld %st(1)
fst %st(1)
fstp %st(1)
fxch %st(1)
ffree %st(1)
ffreep %st(1)
fcom %st(1)
fcomp %st(1)
fucom %st(1)
fucomp %st(1)
fcompp
fucompp
fldz
fld1
fchs
fabs
fsqrt
fnstsw %ax"""


def conditions():
    for c in CONDITIONS:
        yield f"j{c} .L0"
        yield from (f"set{c} %al", f"set{c} %ah", f"set{c} (%rax)")
        for suffix, a, b in (("w", "ax", "bx"), ("l", "eax", "ebx"), ("q", "rax", "rbx")):
            yield from (f"cmov{c}{suffix} %{a}, %{b}", f"cmov{c}{suffix} (%rax), %{b}")


def addresses():
    for parts in ("(%rbx)", "8(%rbx)", "(%rbx,%rcx)", "8(%rbx,%rcx)", "(%rbx,%rcx,4)", "8(%rbx,%rcx,4)", "8(,%rcx,4)", "8(%rip)"):
        yield from (f"lea{suffix} {parts}, %{to}" for suffix, to in (("w", "ax"), ("l", "eax"), ("q", "rax")))


def high_bytes():
    for name in "add or adc sbb and sub xor cmp mov test xchg".split():
        yield from (f"{name}b %ah, %bh", f"{name}b %al, %bh", f"{name}b %ah, %bl", f"{name}b %ah, (%rbx)")
        if name != "xchg":
            yield f"{name}b $5, %ah"
        if name not in ("test", "xchg"):
            yield f"{name}b (%rbx), %ah"
    for name in "shl shr sar rol ror".split():
        yield from (f"{name}b %ah", f"{name}b $3, %ah", f"{name}b %cl, %ah")
    yield from (f"{name}b %ah" for name in "inc dec neg not mul imul div idiv".split())
    yield from (f"mov{kind}b{suffix} %ah, %{to}" for kind in "zs" for suffix, to in (("w", "ax"), ("l", "eax")))


def x87():
    for name in X87_TWO:
        yield from (f"{name} %st(1), %st", f"{name} %st, %st(1)")
    yield from (f"{name} %st, %st(1)" for name in X87_POP)
    yield from (f"{name} %st(1), %st" for name in X87_MOVES + X87_COMPARES)


def strings():
    for name in STRING.split():
        yield name
        yield "rep " + name if name[0] in "msl" and name[:2] != "sc" else "repe " + name


def assembly():
    """All of them, one a line, in AT&T's syntax."""
    for made in (conditions(), addresses(), high_bytes(), x87(), strings()):
        yield from made
    yield from STACK.splitlines()
    yield from OTHER.splitlines()
