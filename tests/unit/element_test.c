// SPDX-License-Identifier: MIT
/*
 * element: the mini decoder against the real one, over every opcode in every encoding
 * and over all code of several libraries; and against a list written from the manuals.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <Zydis/Zydis.h>
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "isa/element.h"
#include "isa/isa.h"

struct tally {
    unsigned long instructions, accesses, floats, different;
};

/* Every access of one instruction; returns its length, 0 if there is none. */
static unsigned compare(const uint8_t *code, size_t available, struct tally *tally)
{
    struct isa_insn insn;
    if (isa_decode(code, available, 0, &insn) != BASE_OK)
        return 0;
    if (isa_is_evex(code, insn.length))
        return insn.length;
    tally->instructions++;
    for (unsigned i = 0; i < insn.access_count; i++) {
        const struct isa_access *access = &insn.accesses[i];
        struct isa_element_type type = isa_element_type(code, insn.length, access->bytes);
        tally->accesses++;
        tally->floats += access->element == ISA_FLOAT;
        if (type.is_float == (access->element == ISA_FLOAT) && type.bytes == access->element_bytes)
            continue;
        if (tally->different++ >= 20)
            continue;
        print_error("%s, %u bytes: expected %c%u, found %c%u:",
                    ZydisMnemonicGetString((ZydisMnemonic)insn.mnemonic), access->bytes,
                    access->element == ISA_FLOAT ? 'f' : 'i', access->element_bytes,
                    type.is_float ? 'f' : 'i', type.bytes);
        for (unsigned byte = 0; byte < insn.length; byte++)
            print_error(" %02x", code[byte]);
        print_error("\n");
    }
    return insn.length;
}

static void report(const char *where, const struct tally *tally)
{
    print_message("# %s: %lu instructions, %lu accesses compared, %lu of floats, %lu different\n",
                  where, tally->instructions, tally->accesses, tally->floats, tally->different);
}

/* ---- every opcode ---------------------------------------------------------------------------- */

static const char *const prefix_sets[] = {
    "",         "\x66",     "\xf3",     "\xf2",         "\x66\xf2", "\xf2\x66",     "\x66\xf3",
    "\xf3\x66", "\xf2\xf3", "\xf3\xf2", "\x66\xf3\xf2", "\x64\x66", "\x67\xf2\x2e", "\xf0",
};

static void compare_legacy(const char *prefixes, int rex, unsigned map, struct tally *tally)
{
    for (unsigned opcode = 0; opcode < 256; opcode++) {
        if (map == 0 && (opcode == 0x8f || opcode == 0xc4 || opcode == 0xc5 || opcode == 0x0f))
            continue; /* escapes */
        if (map == 1 && opcode == 0x0f)
            continue; /* 3DNow!, which Valgrind does not know either */
        for (unsigned reg = 0; reg < 8; reg++) {
            uint8_t code[32] = {0};
            size_t at = strlen(prefixes);
            memcpy(code, prefixes, at);
            if (rex)
                code[at++] = (uint8_t)rex;
            if (map)
                code[at++] = 0x0f;
            if (map > 1)
                code[at++] = map == 2 ? 0x38 : 0x3a;
            code[at++] = (uint8_t)opcode;
            code[at++] = (uint8_t)(reg << 3 | 7);
            compare(code, 15, tally);
        }
    }
}

static void agrees_on_every_legacy_opcode(void **state)
{
    static const int rexes[] = {0, 0x40, 0x48, 0x4f};
    struct tally tally = {0};
    for (unsigned set = 0; set < BASE_COUNT(prefix_sets); set++)
        for (unsigned rex = 0; rex < BASE_COUNT(rexes); rex++)
            for (unsigned map = 0; map < 4; map++)
                compare_legacy(prefix_sets[set], rexes[rex], map, &tally);
    /* A REX that another prefix follows has no effect. */
    compare_legacy("\x48\xf2", 0, 1, &tally);
    compare_legacy("\x48\x66", 0x40, 1, &tally);
    report("legacy opcodes", &tally);
    assert_int_equal(tally.different, 0);
    assert_true(tally.floats > 5000);
}

/* payload: W, vvvv, L, pp. With a plain base and with an index, which gathers need. */
static void compare_vex(unsigned map, unsigned payload, unsigned opcode, struct tally *tally)
{
    for (unsigned reg = 0; reg < 8; reg++) {
        uint8_t three[24] = {
            0xc4, (uint8_t)(0xe0 | map), (uint8_t)payload, (uint8_t)opcode, (uint8_t)(reg << 3 | 7),
        };
        uint8_t indexed[24] = {
            0xc4, (uint8_t)(0xe0 | map), (uint8_t)payload, (uint8_t)opcode, (uint8_t)(reg << 3 | 4),
            0x38,
        };
        uint8_t two[24] = {0xc5, (uint8_t)(payload | 0x80), (uint8_t)opcode,
                           (uint8_t)(reg << 3 | 7)};
        compare(three, 15, tally);
        compare(indexed, 15, tally);
        if (map == 1 && !(payload & 0x80))
            compare(two, 15, tally);
    }
}

static void agrees_on_every_vex_opcode(void **state)
{
    struct tally tally = {0};
    for (unsigned map = 0; map < 32; map++)
        for (unsigned fields = 0; fields < 16; fields++) /* W, one bit of vvvv, L; pp */
            for (unsigned opcode = 0; opcode < 256; opcode++)
                for (unsigned unused = 0; unused < 2; unused++)
                    compare_vex(map,
                                (fields & 8) << 4 | (unused ? 0x78 : 0x70) | (fields & 4) |
                                    (fields & 3),
                                opcode, &tally);
    report("VEX opcodes", &tally);
    assert_int_equal(tally.different, 0);
    assert_true(tally.floats > 10000);
}

/* ---- libraries ------------------------------------------------------------------------------- */

enum { LIBRARY_BYTES_MAX = 16 << 20 };

static int compare_object(struct dl_phdr_info *info, size_t size, void *data)
{
    struct tally tally = {0}, *total = data;
    const char *name = strrchr(info->dlpi_name, '/');
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_LOAD || (header->p_flags & (PF_X | PF_R)) != (PF_X | PF_R))
            continue;
        const uint8_t *code = (const uint8_t *)info->dlpi_addr + header->p_vaddr;
        size_t bytes = header->p_memsz < LIBRARY_BYTES_MAX ? header->p_memsz : LIBRARY_BYTES_MAX;
        for (size_t at = 0; at < bytes;) {
            unsigned length = compare(code + at, bytes - at, &tally);
            at += length ? length : 1;
        }
    }
    report(name ? name + 1 : "this test", &tally);
    total->instructions += tally.instructions;
    total->accesses += tally.accesses;
    total->floats += tally.floats;
    total->different += tally.different;
    return 0;
}

static void agrees_on_libraries(void **state)
{
    static const char *const libraries[] = {
        "libm.so.6",      "libmvec.so.1", "libstdc++.so.6",  "libgfortran.so.5",
        "libcrypto.so.3", "libz.so.1",    "libsqlite3.so.0", "libquadmath.so.0",
    };
    struct tally total = {0};
    for (unsigned i = 0; i < BASE_COUNT(libraries); i++)
        if (!dlopen(libraries[i], RTLD_LAZY | RTLD_LOCAL))
            print_message("# %s is not installed\n", libraries[i]);
    dl_iterate_phdr(compare_object, &total);
    report("all", &total);
    assert_int_equal(total.different, 0);
    assert_true(total.accesses > 100000);
    assert_true(total.floats > 1000);
}

/* ---- a list ---------------------------------------------------------------------------------- */

/* The width of the access is the assembler's choice; element: "f8", "i4". */
struct expectation {
    const char *code, *name;
    unsigned bytes;
    const char *element;
};

static const struct expectation expectations[] = {
    /* SSE */
    {"f30f5807", "addss (%rdi),%xmm0", 4, "f4"},
    {"f20f5807", "addsd (%rdi),%xmm0", 8, "f8"},
    {"0f5807", "addps (%rdi),%xmm0", 16, "f4"},
    {"660f5807", "addpd (%rdi),%xmm0", 16, "f8"},
    {"f30f5c07", "subss (%rdi),%xmm0", 4, "f4"},
    {"f20f5c07", "subsd (%rdi),%xmm0", 8, "f8"},
    {"0f5c07", "subps (%rdi),%xmm0", 16, "f4"},
    {"660f5c07", "subpd (%rdi),%xmm0", 16, "f8"},
    {"f30f5907", "mulss (%rdi),%xmm0", 4, "f4"},
    {"f20f5907", "mulsd (%rdi),%xmm0", 8, "f8"},
    {"0f5907", "mulps (%rdi),%xmm0", 16, "f4"},
    {"660f5907", "mulpd (%rdi),%xmm0", 16, "f8"},
    {"f30f5e07", "divss (%rdi),%xmm0", 4, "f4"},
    {"f20f5e07", "divsd (%rdi),%xmm0", 8, "f8"},
    {"0f5e07", "divps (%rdi),%xmm0", 16, "f4"},
    {"660f5e07", "divpd (%rdi),%xmm0", 16, "f8"},
    {"f30f5d07", "minss (%rdi),%xmm0", 4, "f4"},
    {"f20f5d07", "minsd (%rdi),%xmm0", 8, "f8"},
    {"0f5d07", "minps (%rdi),%xmm0", 16, "f4"},
    {"660f5d07", "minpd (%rdi),%xmm0", 16, "f8"},
    {"f30f5f07", "maxss (%rdi),%xmm0", 4, "f4"},
    {"f20f5f07", "maxsd (%rdi),%xmm0", 8, "f8"},
    {"0f5f07", "maxps (%rdi),%xmm0", 16, "f4"},
    {"660f5f07", "maxpd (%rdi),%xmm0", 16, "f8"},
    {"f30f5107", "sqrtss (%rdi),%xmm0", 4, "f4"},
    {"f20f5107", "sqrtsd (%rdi),%xmm0", 8, "f8"},
    {"0f5107", "sqrtps (%rdi),%xmm0", 16, "f4"},
    {"660f5107", "sqrtpd (%rdi),%xmm0", 16, "f8"},
    {"f30f5307", "rcpss (%rdi),%xmm0", 4, "f4"},
    {"0f5307", "rcpps (%rdi),%xmm0", 16, "f4"},
    {"f30f5207", "rsqrtss (%rdi),%xmm0", 4, "f4"},
    {"0f5207", "rsqrtps (%rdi),%xmm0", 16, "f4"},
    {"f30fc20701", "cmpltss (%rdi),%xmm0", 4, "f4"},
    {"f20fc20701", "cmpltsd (%rdi),%xmm0", 8, "f8"},
    {"0fc20701", "cmpltps (%rdi),%xmm0", 16, "f4"},
    {"660fc20701", "cmpltpd (%rdi),%xmm0", 16, "f8"},
    {"0f2f07", "comiss (%rdi),%xmm0", 4, "f4"},
    {"660f2f07", "comisd (%rdi),%xmm0", 8, "f8"},
    {"0f2e07", "ucomiss (%rdi),%xmm0", 4, "f4"},
    {"660f2e07", "ucomisd (%rdi),%xmm0", 8, "f8"},
    {"f3440f100f", "movss (%rdi),%xmm9", 4, "f4"},
    {"f30f1107", "movss %xmm0,(%rdi)", 4, "f4"},
    {"f30f2d07", "cvtss2si (%rdi),%eax", 4, "f4"},
    {"f3480f2c07", "cvttss2si (%rdi),%rax", 4, "f4"},
    {"f2440f100f", "movsd (%rdi),%xmm9", 8, "f8"},
    {"f20f1107", "movsd %xmm0,(%rdi)", 8, "f8"},
    {"f20f2d07", "cvtsd2si (%rdi),%eax", 8, "f8"},
    {"f2480f2c07", "cvttsd2si (%rdi),%rax", 8, "f8"},
    {"660f1207", "movlpd (%rdi),%xmm0", 8, "f8"},
    {"66410f1300", "movlpd %xmm0,(%r8)", 8, "f8"},
    {"660f1607", "movhpd (%rdi),%xmm0", 8, "f8"},
    {"66410f1700", "movhpd %xmm0,(%r8)", 8, "f8"},
    {"f30f5a07", "cvtss2sd (%rdi),%xmm0", 4, "f4"},
    {"f20f5a07", "cvtsd2ss (%rdi),%xmm0", 8, "f8"},
    {"0f5a07", "cvtps2pd (%rdi),%xmm0", 8, "f4"},
    {"660f5a07", "cvtpd2ps (%rdi),%xmm0", 16, "f8"},
    {"660f5b07", "cvtps2dq (%rdi),%xmm0", 16, "f4"},
    {"f30f5b07", "cvttps2dq (%rdi),%xmm0", 16, "f4"},
    {"f20fe607", "cvtpd2dq (%rdi),%xmm0", 16, "f8"},
    {"660fe607", "cvttpd2dq (%rdi),%xmm0", 16, "f8"},
    {"f20f7c07", "haddps (%rdi),%xmm0", 16, "f4"},
    {"660f7c07", "haddpd (%rdi),%xmm0", 16, "f8"},
    {"f20f7d07", "hsubps (%rdi),%xmm0", 16, "f4"},
    {"660f7d07", "hsubpd (%rdi),%xmm0", 16, "f8"},
    {"f20fd007", "addsubps (%rdi),%xmm0", 16, "f4"},
    {"660fd007", "addsubpd (%rdi),%xmm0", 16, "f8"},
    {"f30f1207", "movsldup (%rdi),%xmm0", 16, "f4"},
    {"f30f1607", "movshdup (%rdi),%xmm0", 16, "f4"},
    {"0fc60701", "shufps $1,(%rdi),%xmm0", 16, "f4"},
    {"660fc60701", "shufpd $1,(%rdi),%xmm0", 16, "f8"},
    {"660f3a080701", "roundps $1,(%rdi),%xmm0", 16, "f4"},
    {"660f3a090701", "roundpd $1,(%rdi),%xmm0", 16, "f8"},
    {"660f3a0c0701", "blendps $1,(%rdi),%xmm0", 16, "f4"},
    {"660f3a0d0701", "blendpd $1,(%rdi),%xmm0", 16, "f8"},
    {"660f3a400701", "dpps $1,(%rdi),%xmm0", 16, "f4"},
    {"660f3a410701", "dppd $1,(%rdi),%xmm0", 16, "f8"},
    {"660f38140f", "blendvps %xmm0,(%rdi),%xmm1", 16, "f4"},
    {"660f38150f", "blendvpd %xmm0,(%rdi),%xmm1", 16, "f8"},
    {"0f2c07", "cvttps2pi (%rdi),%mm0", 8, "f4"},
    {"660f2d07", "cvtpd2pi (%rdi),%mm0", 16, "f8"},
    {"660f2c07", "cvttpd2pi (%rdi),%mm0", 16, "f8"},
    /* AVX, FMA, x87 */
    {"c5f25807", "vaddss (%rdi),%xmm1,%xmm0", 4, "f4"},
    {"c5f35807", "vaddsd (%rdi),%xmm1,%xmm0", 8, "f8"},
    {"c5f05807", "vaddps (%rdi),%xmm1,%xmm0", 16, "f4"},
    {"c5745824c7", "vaddps (%rdi,%rax,8),%ymm1,%ymm12", 32, "f4"},
    {"c5f15807", "vaddpd (%rdi),%xmm1,%xmm0", 16, "f8"},
    {"c5755824c7", "vaddpd (%rdi,%rax,8),%ymm1,%ymm12", 32, "f8"},
    {"c5f25c07", "vsubss (%rdi),%xmm1,%xmm0", 4, "f4"},
    {"c5f35c07", "vsubsd (%rdi),%xmm1,%xmm0", 8, "f8"},
    {"c5f05c07", "vsubps (%rdi),%xmm1,%xmm0", 16, "f4"},
    {"c5745c24c7", "vsubps (%rdi,%rax,8),%ymm1,%ymm12", 32, "f4"},
    {"c5f15c07", "vsubpd (%rdi),%xmm1,%xmm0", 16, "f8"},
    {"c5755c24c7", "vsubpd (%rdi,%rax,8),%ymm1,%ymm12", 32, "f8"},
    {"c5f25907", "vmulss (%rdi),%xmm1,%xmm0", 4, "f4"},
    {"c5f35907", "vmulsd (%rdi),%xmm1,%xmm0", 8, "f8"},
    {"c5f05907", "vmulps (%rdi),%xmm1,%xmm0", 16, "f4"},
    {"c5745924c7", "vmulps (%rdi,%rax,8),%ymm1,%ymm12", 32, "f4"},
    {"c5f15907", "vmulpd (%rdi),%xmm1,%xmm0", 16, "f8"},
    {"c5755924c7", "vmulpd (%rdi,%rax,8),%ymm1,%ymm12", 32, "f8"},
    {"c5f25e07", "vdivss (%rdi),%xmm1,%xmm0", 4, "f4"},
    {"c5f35e07", "vdivsd (%rdi),%xmm1,%xmm0", 8, "f8"},
    {"c5f05e07", "vdivps (%rdi),%xmm1,%xmm0", 16, "f4"},
    {"c5745e24c7", "vdivps (%rdi,%rax,8),%ymm1,%ymm12", 32, "f4"},
    {"c5f15e07", "vdivpd (%rdi),%xmm1,%xmm0", 16, "f8"},
    {"c5755e24c7", "vdivpd (%rdi,%rax,8),%ymm1,%ymm12", 32, "f8"},
    {"c5f25d07", "vminss (%rdi),%xmm1,%xmm0", 4, "f4"},
    {"c5f35d07", "vminsd (%rdi),%xmm1,%xmm0", 8, "f8"},
    {"c5f05d07", "vminps (%rdi),%xmm1,%xmm0", 16, "f4"},
    {"c5745d24c7", "vminps (%rdi,%rax,8),%ymm1,%ymm12", 32, "f4"},
    {"c5f15d07", "vminpd (%rdi),%xmm1,%xmm0", 16, "f8"},
    {"c5755d24c7", "vminpd (%rdi,%rax,8),%ymm1,%ymm12", 32, "f8"},
    {"c5f25f07", "vmaxss (%rdi),%xmm1,%xmm0", 4, "f4"},
    {"c5f35f07", "vmaxsd (%rdi),%xmm1,%xmm0", 8, "f8"},
    {"c5f05f07", "vmaxps (%rdi),%xmm1,%xmm0", 16, "f4"},
    {"c5745f24c7", "vmaxps (%rdi,%rax,8),%ymm1,%ymm12", 32, "f4"},
    {"c5f15f07", "vmaxpd (%rdi),%xmm1,%xmm0", 16, "f8"},
    {"c5755f24c7", "vmaxpd (%rdi,%rax,8),%ymm1,%ymm12", 32, "f8"},
    {"c5f25107", "vsqrtss (%rdi),%xmm1,%xmm0", 4, "f4"},
    {"c5fa1007", "vmovss (%rdi),%xmm0", 4, "f4"},
    {"c4c17a1101", "vmovss %xmm0,(%r9)", 4, "f4"},
    {"c5f82e07", "vucomiss (%rdi),%xmm0", 4, "f4"},
    {"c5f82f07", "vcomiss (%rdi),%xmm0", 4, "f4"},
    {"c4e1fa2c07", "vcvttss2si (%rdi),%rax", 4, "f4"},
    {"c5fa2d07", "vcvtss2si (%rdi),%eax", 4, "f4"},
    {"c5f2c20701", "vcmpltss (%rdi),%xmm1,%xmm0", 4, "f4"},
    {"c4e3710a0701", "vroundss $1,(%rdi),%xmm1,%xmm0", 4, "f4"},
    {"c5f35107", "vsqrtsd (%rdi),%xmm1,%xmm0", 8, "f8"},
    {"c5fb1007", "vmovsd (%rdi),%xmm0", 8, "f8"},
    {"c4c17b1101", "vmovsd %xmm0,(%r9)", 8, "f8"},
    {"c5f92e07", "vucomisd (%rdi),%xmm0", 8, "f8"},
    {"c5f92f07", "vcomisd (%rdi),%xmm0", 8, "f8"},
    {"c4e1fb2c07", "vcvttsd2si (%rdi),%rax", 8, "f8"},
    {"c5fb2d07", "vcvtsd2si (%rdi),%eax", 8, "f8"},
    {"c5f3c20701", "vcmpltsd (%rdi),%xmm1,%xmm0", 8, "f8"},
    {"c4e3710b0701", "vroundsd $1,(%rdi),%xmm1,%xmm0", 8, "f8"},
    {"c5fc5107", "vsqrtps (%rdi),%ymm0", 32, "f4"},
    {"c5fd5107", "vsqrtpd (%rdi),%ymm0", 32, "f8"},
    {"c5fc5307", "vrcpps (%rdi),%ymm0", 32, "f4"},
    {"c5fc5207", "vrsqrtps (%rdi),%ymm0", 32, "f4"},
    {"c5fd5b07", "vcvtps2dq (%rdi),%ymm0", 32, "f4"},
    {"c5fe5b07", "vcvttps2dq (%rdi),%ymm0", 32, "f4"},
    {"c5fe1207", "vmovsldup (%rdi),%ymm0", 32, "f4"},
    {"c5fe1607", "vmovshdup (%rdi),%ymm0", 32, "f4"},
    {"c5f25307", "vrcpss (%rdi),%xmm1,%xmm0", 4, "f4"},
    {"c5f25207", "vrsqrtss (%rdi),%xmm1,%xmm0", 4, "f4"},
    {"c5f41407", "vunpcklps (%rdi),%ymm1,%ymm0", 32, "f4"},
    {"c5f41507", "vunpckhps (%rdi),%ymm1,%ymm0", 32, "f4"},
    {"c5f51407", "vunpcklpd (%rdi),%ymm1,%ymm0", 32, "f8"},
    {"c5f51507", "vunpckhpd (%rdi),%ymm1,%ymm0", 32, "f8"},
    {"c5f77c07", "vhaddps (%rdi),%ymm1,%ymm0", 32, "f4"},
    {"c5f57c07", "vhaddpd (%rdi),%ymm1,%ymm0", 32, "f8"},
    {"c5f77d07", "vhsubps (%rdi),%ymm1,%ymm0", 32, "f4"},
    {"c5f57d07", "vhsubpd (%rdi),%ymm1,%ymm0", 32, "f8"},
    {"c5f7d007", "vaddsubps (%rdi),%ymm1,%ymm0", 32, "f4"},
    {"c5f5d007", "vaddsubpd (%rdi),%ymm1,%ymm0", 32, "f8"},
    {"c5f4c20701", "vcmpltps (%rdi),%ymm1,%ymm0", 32, "f4"},
    {"c5f5c20701", "vcmpltpd (%rdi),%ymm1,%ymm0", 32, "f8"},
    {"c4e2751607", "vpermps (%rdi),%ymm1,%ymm0", 32, "f4"},
    {"c5f4c60701", "vshufps $1,(%rdi),%ymm1,%ymm0", 32, "f4"},
    {"c5f5c60701", "vshufpd $1,(%rdi),%ymm1,%ymm0", 32, "f8"},
    {"c4e3750c0701", "vblendps $1,(%rdi),%ymm1,%ymm0", 32, "f4"},
    {"c4e3750d0701", "vblendpd $1,(%rdi),%ymm1,%ymm0", 32, "f8"},
    {"c4e375400701", "vdpps $1,(%rdi),%ymm1,%ymm0", 32, "f4"},
    {"c4e37d080701", "vroundps $1,(%rdi),%ymm0", 32, "f4"},
    {"c4e37d090701", "vroundpd $1,(%rdi),%ymm0", 32, "f8"},
    {"c4e37d040701", "vpermilps $1,(%rdi),%ymm0", 32, "f4"},
    {"c4e37d050701", "vpermilpd $1,(%rdi),%ymm0", 32, "f8"},
    {"c4e3fd010701", "vpermpd $1,(%rdi),%ymm0", 32, "f8"},
    {"c4e3754a0720", "vblendvps %ymm2,(%rdi),%ymm1,%ymm0", 32, "f4"},
    {"c4e3754b0720", "vblendvpd %ymm2,(%rdi),%ymm1,%ymm0", 32, "f8"},
    {"c4e371410701", "vdppd $1,(%rdi),%xmm1,%xmm0", 16, "f8"},
    {"c5f11207", "vmovlpd (%rdi),%xmm1,%xmm0", 8, "f8"},
    {"c5f91307", "vmovlpd %xmm0,(%rdi)", 8, "f8"},
    {"c5f11607", "vmovhpd (%rdi),%xmm1,%xmm0", 8, "f8"},
    {"c5f91707", "vmovhpd %xmm0,(%rdi)", 8, "f8"},
    {"c5fb1207", "vmovddup (%rdi),%xmm0", 8, "f8"},
    {"c5ff1207", "vmovddup (%rdi),%ymm0", 32, "f8"},
    {"c5f25a07", "vcvtss2sd (%rdi),%xmm1,%xmm0", 4, "f4"},
    {"c5f35a07", "vcvtsd2ss (%rdi),%xmm1,%xmm0", 8, "f8"},
    {"c5fc5a07", "vcvtps2pd (%rdi),%ymm0", 16, "f4"},
    {"c5fd5a07", "vcvtpd2psy (%rdi),%xmm0", 32, "f8"},
    {"c5fbe607", "vcvtpd2dqx (%rdi),%xmm0", 16, "f8"},
    {"c5fde607", "vcvttpd2dqy (%rdi),%xmm0", 32, "f8"},
    {"c4e27d1307", "vcvtph2ps (%rdi),%ymm0", 16, "f2"},
    {"c4e37d1d0701", "vcvtps2ph $1,%ymm0,(%rdi)", 16, "f2"},
    {"c4e27d1807", "vbroadcastss (%rdi),%ymm0", 4, "f4"},
    {"c4e27d1907", "vbroadcastsd (%rdi),%ymm0", 8, "f8"},
    {"c4e379170701", "vextractps $1,%xmm0,(%rdi)", 4, "f4"},
    {"c4e371210701", "vinsertps $1,(%rdi),%xmm1,%xmm0", 4, "f4"},
    {"c4e2752c07", "vmaskmovps (%rdi),%ymm1,%ymm0", 32, "f4"},
    {"c4e2752e07", "vmaskmovps %ymm0,%ymm1,(%rdi)", 32, "f4"},
    {"c4e2752d07", "vmaskmovpd (%rdi),%ymm1,%ymm0", 32, "f8"},
    {"c4e2752f07", "vmaskmovpd %ymm0,%ymm1,(%rdi)", 32, "f8"},
    {"c4e27d92148f", "vgatherdps %ymm0,(%rdi,%ymm1,4),%ymm2", 4, "f4"},
    {"c4e2fd9214cf", "vgatherdpd %ymm0,(%rdi,%xmm1,8),%ymm2", 8, "f8"},
    {"c4e27d93148f", "vgatherqps %xmm0,(%rdi,%ymm1,4),%xmm2", 4, "f4"},
    {"c4e2fd9314cf", "vgatherqpd %ymm0,(%rdi,%ymm1,8),%ymm2", 8, "f8"},
    {"c4e2719907", "vfmadd132ss (%rdi),%xmm1,%xmm0", 4, "f4"},
    {"c4e2f19907", "vfmadd132sd (%rdi),%xmm1,%xmm0", 8, "f8"},
    {"c4e2759807", "vfmadd132ps (%rdi),%ymm1,%ymm0", 32, "f4"},
    {"c4e2f59807", "vfmadd132pd (%rdi),%ymm1,%ymm0", 32, "f8"},
    {"c4e2719b07", "vfmsub132ss (%rdi),%xmm1,%xmm0", 4, "f4"},
    {"c4e2f19b07", "vfmsub132sd (%rdi),%xmm1,%xmm0", 8, "f8"},
    {"c4e2759a07", "vfmsub132ps (%rdi),%ymm1,%ymm0", 32, "f4"},
    {"c4e2f59a07", "vfmsub132pd (%rdi),%ymm1,%ymm0", 32, "f8"},
    {"c4e2719d07", "vfnmadd132ss (%rdi),%xmm1,%xmm0", 4, "f4"},
    {"c4e2f19d07", "vfnmadd132sd (%rdi),%xmm1,%xmm0", 8, "f8"},
    {"c4e2759c07", "vfnmadd132ps (%rdi),%ymm1,%ymm0", 32, "f4"},
    {"c4e2f59c07", "vfnmadd132pd (%rdi),%ymm1,%ymm0", 32, "f8"},
    {"c4e2719f07", "vfnmsub132ss (%rdi),%xmm1,%xmm0", 4, "f4"},
    {"c4e2f19f07", "vfnmsub132sd (%rdi),%xmm1,%xmm0", 8, "f8"},
    {"c4e2759e07", "vfnmsub132ps (%rdi),%ymm1,%ymm0", 32, "f4"},
    {"c4e2f59e07", "vfnmsub132pd (%rdi),%ymm1,%ymm0", 32, "f8"},
    {"c4e2759607", "vfmaddsub132ps (%rdi),%ymm1,%ymm0", 32, "f4"},
    {"c4e2f59607", "vfmaddsub132pd (%rdi),%ymm1,%ymm0", 32, "f8"},
    {"c4e2759707", "vfmsubadd132ps (%rdi),%ymm1,%ymm0", 32, "f4"},
    {"c4e2f59707", "vfmsubadd132pd (%rdi),%ymm1,%ymm0", 32, "f8"},
    {"c4e271a907", "vfmadd213ss (%rdi),%xmm1,%xmm0", 4, "f4"},
    {"c4e2f1a907", "vfmadd213sd (%rdi),%xmm1,%xmm0", 8, "f8"},
    {"c4e275a807", "vfmadd213ps (%rdi),%ymm1,%ymm0", 32, "f4"},
    {"c4e2f5a807", "vfmadd213pd (%rdi),%ymm1,%ymm0", 32, "f8"},
    {"c4e271ab07", "vfmsub213ss (%rdi),%xmm1,%xmm0", 4, "f4"},
    {"c4e2f1ab07", "vfmsub213sd (%rdi),%xmm1,%xmm0", 8, "f8"},
    {"c4e275aa07", "vfmsub213ps (%rdi),%ymm1,%ymm0", 32, "f4"},
    {"c4e2f5aa07", "vfmsub213pd (%rdi),%ymm1,%ymm0", 32, "f8"},
    {"c4e271ad07", "vfnmadd213ss (%rdi),%xmm1,%xmm0", 4, "f4"},
    {"c4e2f1ad07", "vfnmadd213sd (%rdi),%xmm1,%xmm0", 8, "f8"},
    {"c4e275ac07", "vfnmadd213ps (%rdi),%ymm1,%ymm0", 32, "f4"},
    {"c4e2f5ac07", "vfnmadd213pd (%rdi),%ymm1,%ymm0", 32, "f8"},
    {"c4e271af07", "vfnmsub213ss (%rdi),%xmm1,%xmm0", 4, "f4"},
    {"c4e2f1af07", "vfnmsub213sd (%rdi),%xmm1,%xmm0", 8, "f8"},
    {"c4e275ae07", "vfnmsub213ps (%rdi),%ymm1,%ymm0", 32, "f4"},
    {"c4e2f5ae07", "vfnmsub213pd (%rdi),%ymm1,%ymm0", 32, "f8"},
    {"c4e275a607", "vfmaddsub213ps (%rdi),%ymm1,%ymm0", 32, "f4"},
    {"c4e2f5a607", "vfmaddsub213pd (%rdi),%ymm1,%ymm0", 32, "f8"},
    {"c4e275a707", "vfmsubadd213ps (%rdi),%ymm1,%ymm0", 32, "f4"},
    {"c4e2f5a707", "vfmsubadd213pd (%rdi),%ymm1,%ymm0", 32, "f8"},
    {"c4e271b907", "vfmadd231ss (%rdi),%xmm1,%xmm0", 4, "f4"},
    {"c4e2f1b907", "vfmadd231sd (%rdi),%xmm1,%xmm0", 8, "f8"},
    {"c4e275b807", "vfmadd231ps (%rdi),%ymm1,%ymm0", 32, "f4"},
    {"c4e2f5b807", "vfmadd231pd (%rdi),%ymm1,%ymm0", 32, "f8"},
    {"c4e271bb07", "vfmsub231ss (%rdi),%xmm1,%xmm0", 4, "f4"},
    {"c4e2f1bb07", "vfmsub231sd (%rdi),%xmm1,%xmm0", 8, "f8"},
    {"c4e275ba07", "vfmsub231ps (%rdi),%ymm1,%ymm0", 32, "f4"},
    {"c4e2f5ba07", "vfmsub231pd (%rdi),%ymm1,%ymm0", 32, "f8"},
    {"c4e271bd07", "vfnmadd231ss (%rdi),%xmm1,%xmm0", 4, "f4"},
    {"c4e2f1bd07", "vfnmadd231sd (%rdi),%xmm1,%xmm0", 8, "f8"},
    {"c4e275bc07", "vfnmadd231ps (%rdi),%ymm1,%ymm0", 32, "f4"},
    {"c4e2f5bc07", "vfnmadd231pd (%rdi),%ymm1,%ymm0", 32, "f8"},
    {"c4e271bf07", "vfnmsub231ss (%rdi),%xmm1,%xmm0", 4, "f4"},
    {"c4e2f1bf07", "vfnmsub231sd (%rdi),%xmm1,%xmm0", 8, "f8"},
    {"c4e275be07", "vfnmsub231ps (%rdi),%ymm1,%ymm0", 32, "f4"},
    {"c4e2f5be07", "vfnmsub231pd (%rdi),%ymm1,%ymm0", 32, "f8"},
    {"c4e275b607", "vfmaddsub231ps (%rdi),%ymm1,%ymm0", 32, "f4"},
    {"c4e2f5b607", "vfmaddsub231pd (%rdi),%ymm1,%ymm0", 32, "f8"},
    {"c4e275b707", "vfmsubadd231ps (%rdi),%ymm1,%ymm0", 32, "f4"},
    {"c4e2f5b707", "vfmsubadd231pd (%rdi),%ymm1,%ymm0", 32, "f8"},
    {"d807", "fadds (%rdi)", 4, "f4"},
    {"dc07", "faddl (%rdi)", 8, "f8"},
    {"d80f", "fmuls (%rdi)", 4, "f4"},
    {"dc0f", "fmull (%rdi)", 8, "f8"},
    {"d817", "fcoms (%rdi)", 4, "f4"},
    {"dc17", "fcoml (%rdi)", 8, "f8"},
    {"d81f", "fcomps (%rdi)", 4, "f4"},
    {"dc1f", "fcompl (%rdi)", 8, "f8"},
    {"d827", "fsubs (%rdi)", 4, "f4"},
    {"dc27", "fsubl (%rdi)", 8, "f8"},
    {"d82f", "fsubrs (%rdi)", 4, "f4"},
    {"dc2f", "fsubrl (%rdi)", 8, "f8"},
    {"d837", "fdivs (%rdi)", 4, "f4"},
    {"dc37", "fdivl (%rdi)", 8, "f8"},
    {"d83f", "fdivrs (%rdi)", 4, "f4"},
    {"dc3f", "fdivrl (%rdi)", 8, "f8"},
    {"d907", "flds (%rdi)", 4, "f4"},
    {"dd07", "fldl (%rdi)", 8, "f8"},
    {"d917", "fsts (%rdi)", 4, "f4"},
    {"dd17", "fstl (%rdi)", 8, "f8"},
    {"d91f", "fstps (%rdi)", 4, "f4"},
    {"dd1f", "fstpl (%rdi)", 8, "f8"},
    {"db2f", "fldt (%rdi)", 10, "f10"},
    {"db3f", "fstpt (%rdi)", 10, "f10"},
    {"df07", "filds (%rdi)", 2, "i2"},
    {"db07", "fildl (%rdi)", 4, "i4"},
    {"df2f", "fildll (%rdi)", 8, "i8"},
    {"df1f", "fistps (%rdi)", 2, "i2"},
    {"df3f", "fistpll (%rdi)", 8, "i8"},
    {"db0f", "fisttpl (%rdi)", 4, "i4"},
    {"da07", "fiaddl (%rdi)", 4, "i4"},
    {"de07", "fiadds (%rdi)", 2, "i2"},
    {"df27", "fbld (%rdi)", 10, "i2"},
    {"d92f", "fldcw (%rdi)", 2, "i2"},
    {"d93f", "fnstcw (%rdi)", 2, "i2"},
    {"dd3f", "fnstsw (%rdi)", 2, "i2"},
    {"d937", "fnstenv (%rdi)", 28, "i4"},
    {"0fae07", "fxsave (%rdi)", 512, "i8"},
    {"0f2807", "movaps (%rdi),%xmm0", 16, "i8"},
    {"660f2907", "movapd %xmm0,(%rdi)", 16, "i8"},
    {"0f1007", "movups (%rdi),%xmm0", 16, "i8"},
    {"660f1007", "movupd (%rdi),%xmm0", 16, "i8"},
    {"0f1207", "movlps (%rdi),%xmm0", 8, "i8"},
    {"0f1707", "movhps %xmm0,(%rdi)", 8, "i8"},
    {"0f2b07", "movntps %xmm0,(%rdi)", 16, "i8"},
    {"660f2b07", "movntpd %xmm0,(%rdi)", 16, "i8"},
    {"c5fc2807", "vmovaps (%rdi),%ymm0", 32, "i8"},
    {"c5fd1107", "vmovupd %ymm0,(%rdi)", 32, "i8"},
    {"c5f01207", "vmovlps (%rdi),%xmm1,%xmm0", 8, "i8"},
    {"c5f81707", "vmovhps %xmm0,(%rdi)", 8, "i8"},
    {"c5fc2b07", "vmovntps %ymm0,(%rdi)", 32, "i8"},
    {"0f5407", "andps (%rdi),%xmm0", 16, "i8"},
    {"660f5507", "andnpd (%rdi),%xmm0", 16, "i8"},
    {"0f5607", "orps (%rdi),%xmm0", 16, "i8"},
    {"660f5707", "xorpd (%rdi),%xmm0", 16, "i8"},
    {"c5f45707", "vxorps (%rdi),%ymm1,%ymm0", 32, "i8"},
    {"c4e27d0e07", "vtestps (%rdi),%ymm0", 32, "i8"},
    {"c4e27d1a07", "vbroadcastf128 (%rdi),%ymm0", 16, "i8"},
    {"c4e375180701", "vinsertf128 $1,(%rdi),%ymm1,%ymm0", 16, "i8"},
    {"c4e37d190701", "vextractf128 $1,%ymm0,(%rdi)", 16, "i8"},
    {"c4e375060701", "vperm2f128 $1,(%rdi),%ymm1,%ymm0", 32, "i8"},
    {"f2480f2a07", "cvtsi2sdq (%rdi),%xmm0", 8, "i8"},
    {"f30f2a07", "cvtsi2ssl (%rdi),%xmm0", 4, "i4"},
    {"c5f32a07", "vcvtsi2sdl (%rdi),%xmm1,%xmm0", 4, "i4"},
    {"f30fe607", "cvtdq2pd (%rdi),%xmm0", 8, "i8"},
    {"0f5b07", "cvtdq2ps (%rdi),%xmm0", 16, "i8"},
    {"c5fee607", "vcvtdq2pd (%rdi),%ymm0", 16, "i8"},
    {"0f2a07", "cvtpi2ps (%rdi),%xmm0", 8, "i8"},
    {"c4e2750c07", "vpermilps (%rdi),%ymm1,%ymm0", 32, "i8"},
    {"c4e2758c07", "vpmaskmovd (%rdi),%ymm1,%ymm0", 32, "i8"},
    {"c4e27d90148f", "vpgatherdd %ymm0,(%rdi,%ymm1,4),%ymm2", 4, "i4"},
    {"f30f6f07", "movdqu (%rdi),%xmm0", 16, "i8"},
    {"660f6e07", "movd (%rdi),%xmm0", 4, "i4"},
    {"660fd607", "movq %xmm0,(%rdi)", 8, "i8"},
    {"660ffe07", "paddd (%rdi),%xmm0", 16, "i8"},
    {"f20ff007", "lddqu (%rdi),%xmm0", 16, "i8"},
    {"660f380007", "pshufb (%rdi),%xmm0", 16, "i8"},
    {"0fae17", "ldmxcsr (%rdi)", 4, "i4"},
    {"488b07", "mov (%rdi),%rax", 8, "i8"},
    {"8807", "movb %al,(%rdi)", 1, "i1"},
    {"66830701", "addw $1,(%rdi)", 2, "i2"},
    {"480fc70f", "cmpxchg16b (%rdi)", 16, "i8"},
    {"0f38f007", "movbe (%rdi),%eax", 4, "i4"},
    {"f20f38f007", "crc32b (%rdi),%eax", 1, "i1"},
    {"f3480fb807", "popcnt (%rdi),%rax", 8, "i8"},
    /* Zydis gives no element type in these legacy encodings. */
    {"0f2d07", "cvtps2pi (%rdi),%mm0", 8, "i8"},
    {"0f1407", "unpcklps (%rdi),%xmm0", 16, "i8"},
    {"660f1507", "unpckhpd (%rdi),%xmm0", 16, "i8"},
    {"f20f1207", "movddup (%rdi),%xmm0", 8, "i8"},
    {"660f3a0a0701", "roundss $1,(%rdi),%xmm0", 4, "i4"},
    {"660f3a0b0701", "roundsd $1,(%rdi),%xmm0", 8, "i8"},
    {"660f3a210701", "insertps $1,(%rdi),%xmm0", 4, "i4"},
    {"660f3a170701", "extractps $1,%xmm0,(%rdi)", 4, "i4"},
};

static size_t parse_hex(const char *hex, uint8_t *out)
{
    size_t count = 0;
    unsigned byte;
    for (; sscanf(hex, "%2x", &byte) == 1; hex += 2)
        out[count++] = (uint8_t)byte;
    return count;
}

static void knows_the_list(void **state)
{
    unsigned wrong = 0;
    for (unsigned i = 0; i < BASE_COUNT(expectations); i++) {
        const struct expectation *expected = &expectations[i];
        uint8_t code[16];
        char found[8];
        size_t bytes = parse_hex(expected->code, code);
        struct isa_element_type type = isa_element_type(code, bytes, expected->bytes);
        snprintf(found, sizeof(found), "%c%u", type.is_float ? 'f' : 'i', type.bytes);
        if (strcmp(found, expected->element) == 0)
            continue;
        wrong++;
        print_error("%s: expected %s, found %s\n", expected->name, expected->element, found);
    }
    print_message("# %zu instructions listed\n", BASE_COUNT(expectations));
    assert_int_equal(wrong, 0);
}

/* ---- odd input ------------------------------------------------------------------------------- */

static void integers_divide_the_access(void **state)
{
    static const struct {
        uint32_t access;
        uint8_t element;
    } widths[] = {{1, 1},  {2, 2},  {3, 1},  {4, 4},  {6, 2},   {8, 8}, {10, 2},
                  {12, 4}, {16, 8}, {28, 4}, {32, 8}, {512, 8}, {0, 8}, {UINT32_MAX, 1}};
    for (unsigned i = 0; i < BASE_COUNT(widths); i++) {
        struct isa_element_type type =
            isa_element_type((const uint8_t *)"\x0f\x10\x07", 3, widths[i].access);
        assert_false(type.is_float);
        assert_int_equal(type.bytes, widths[i].element);
    }
    /* An engine may split x87's ten bytes: the parts are no floats. */
    assert_false(isa_element_type((const uint8_t *)"\xdb\x2f", 2, 8).is_float);
    assert_true(isa_element_type((const uint8_t *)"\xdb\x2f", 2, 10).is_float);
}

/* Cut instructions: no byte beyond the given ones decides (ASan sees reads in the copy). */
static void cut_instructions_are_integers(void **state)
{
    static const char *const codes[] = {"f3480f1007", "c5fb1007", "c4e2f1b907", "dd07",
                                        "660f3a0807"};
    for (unsigned i = 0; i < BASE_COUNT(codes); i++) {
        uint8_t code[16];
        size_t bytes = parse_hex(codes[i], code);
        assert_true(isa_element_type(code, bytes, 16 / (i == 3 ? 2 : 1)).is_float);
        for (size_t cut = 0; cut < bytes; cut++) {
            uint8_t *copy = malloc(cut + !cut);
            assert_non_null(copy);
            memcpy(copy, code, cut);
            assert_false(isa_element_type(copy, cut, 16).is_float);
            assert_int_equal(isa_element_type(copy, cut, 16).bytes, 8);
            free(copy);
        }
    }
    uint8_t prefixes[15];
    memset(prefixes, 0x66, sizeof(prefixes));
    assert_false(isa_element_type(prefixes, sizeof(prefixes), 8).is_float);
}

static void knows_evex(void **state)
{
    assert_true(isa_is_evex((const uint8_t *)"\x62\xf1\xfe\x48\x6f\x07", 6));
    assert_true(isa_is_evex((const uint8_t *)"\x67\x62\xf1\xfe\x48\x6f\x07", 7));
    assert_false(isa_is_evex((const uint8_t *)"\xc5\xfb\x10\x07", 4));
    assert_false(isa_is_evex((const uint8_t *)"\x48\x8b\x62\x08", 4));
    assert_false(isa_is_evex((const uint8_t *)"\x66", 1));
    assert_false(isa_is_evex((const uint8_t *)"", 0));
}

static int start_decoder(void **state)
{
    return isa_start((const void *)ZydisDecoderInit, (const void *)ZydisDecoderDecodeFull);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_on_every_legacy_opcode),
        cmocka_unit_test(agrees_on_every_vex_opcode),
        cmocka_unit_test(agrees_on_libraries),
        cmocka_unit_test(knows_the_list),
        cmocka_unit_test(integers_divide_the_access),
        cmocka_unit_test(cut_instructions_are_integers),
        cmocka_unit_test(knows_evex),
    };
    return cmocka_run_group_tests(tests, start_decoder, NULL);
}
