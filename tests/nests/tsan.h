// SPDX-License-Identifier: MIT
/* What clang's -fsanitize=thread has a program call, without its library: `accessed`, which the includer defines, gets each load and store. */
static void accessed(const void *address, const void *code, int write);

#define ACCESS(name, write)                                                                        \
    void __tsan_##name(void *address);                                                             \
    void __tsan_##name(void *address)                                                              \
    {                                                                                              \
        accessed(address, (char *)__builtin_return_address(0) - 1, write);                         \
    }
ACCESS(read1, 0)
ACCESS(read4, 0)
ACCESS(read8, 0)
ACCESS(write1, 1)
ACCESS(write4, 1)
ACCESS(write8, 1)
void __tsan_init(void);
void __tsan_init(void)
{
}
void __tsan_func_entry(void *from);
void __tsan_func_entry(void *from)
{
    (void)from;
}
void __tsan_func_exit(void);
void __tsan_func_exit(void)
{
}
