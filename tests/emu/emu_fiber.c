#include "emu_fiber.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

bool mo_stacks_open(mo_stacks *stacks, size_t count, size_t each)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    each = (each + page - 1) / page * page + page;
    void *base = mmap(NULL, count * each, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (base == MAP_FAILED) return false;
    *stacks = (mo_stacks){base, each, count};
    for (size_t i = 0; i < count; i++) {
        if (mprotect(stacks->base + i * each, page, PROT_NONE) != 0) {
            mo_stacks_close(stacks);
            return false;
        }
    }
    return true;
}

void mo_stacks_close(mo_stacks *stacks)
{
    if (stacks->base != NULL) munmap(stacks->base, stacks->each * stacks->count);
    *stacks = (mo_stacks){0};
}

#if MO_FIBER_UCONTEXT

/* GCC and clang each say in their own way that AddressSanitizer is on; without it ucontext needs no help. */
#if defined(__SANITIZE_ADDRESS__)
#define FIBER_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FIBER_SANITIZED 1
#endif
#endif
#ifndef FIBER_SANITIZED
#define FIBER_SANITIZED 0
#endif
#if FIBER_SANITIZED
#include <sanitizer/common_interface_defs.h>
#endif

/* makecontext passes ints only. */
static void start(unsigned entry_low, unsigned entry_high, unsigned argument_low, unsigned argument_high)
{
    uintptr_t entry = (uintptr_t)((uint64_t)entry_low | (uint64_t)entry_high << 32);
    uintptr_t argument = (uintptr_t)((uint64_t)argument_low | (uint64_t)argument_high << 32);
#if FIBER_SANITIZED
    __sanitizer_finish_switch_fiber(NULL, NULL, NULL);
#endif
    ((void (*)(void *))entry)((void *)argument);
}

void mo_fiber_prepare(mo_fiber *fiber, const mo_stacks *stacks, size_t index, void (*entry)(void *),
                      void *argument)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    getcontext(&fiber->context);
    fiber->stack = stacks->base + index * stacks->each + page;
    fiber->stack_size = stacks->each - page;
    fiber->fake_stack = NULL;
    fiber->context.uc_stack.ss_sp = fiber->stack;
    fiber->context.uc_stack.ss_size = fiber->stack_size;
    fiber->context.uc_link = NULL;
    uint64_t e = (uint64_t)(uintptr_t)entry, a = (uint64_t)(uintptr_t)argument;
    makecontext(&fiber->context, (void (*)(void))start, 4, (unsigned)e, (unsigned)(e >> 32), (unsigned)a,
                (unsigned)(a >> 32));
}

void mo_fiber_switch(mo_fiber *from, mo_fiber *to)
{
#if FIBER_SANITIZED
    const void *old_stack;
    size_t old_size;
    __sanitizer_start_switch_fiber(&from->fake_stack, to->stack, to->stack_size);
    swapcontext(&from->context, &to->context);
    __sanitizer_finish_switch_fiber(from->fake_stack, &old_stack, &old_size);
    (void)old_size;
#else
    swapcontext(&from->context, &to->context);
#endif
}

#else

void mo_fiber_swap(void **save, void *load);
void mo_fiber_enter(void);

#if defined(__x86_64__)
/* Callee-saved registers on the stack; a new fiber finds its entry in rbx and its argument in r12. */
__asm__(".text\n"
        ".globl mo_fiber_swap\n"
        ".type mo_fiber_swap, @function\n"
        "mo_fiber_swap:\n"
        "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
        "  movq %rsp, (%rdi)\n"
        "  movq %rsi, %rsp\n"
        "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n"
        "  ret\n"
        ".size mo_fiber_swap, . - mo_fiber_swap\n"
        ".globl mo_fiber_enter\n"
        ".type mo_fiber_enter, @function\n"
        "mo_fiber_enter:\n"
        "  movq %r12, %rdi\n"
        "  call *%rbx\n"
        "  ud2\n"
        ".size mo_fiber_enter, . - mo_fiber_enter\n");

enum { FRAME_WORDS = 8, AT_ARGUMENT = 3, AT_ENTRY = 4, AT_RETURN = 6 };
#else
__asm__(".text\n"
        ".globl mo_fiber_swap\n"
        ".type mo_fiber_swap, %function\n"
        "mo_fiber_swap:\n"
        "  sub sp, sp, #160\n"
        "  stp x19, x20, [sp]\n  stp x21, x22, [sp, #16]\n  stp x23, x24, [sp, #32]\n"
        "  stp x25, x26, [sp, #48]\n  stp x27, x28, [sp, #64]\n  stp x29, x30, [sp, #80]\n"
        "  stp d8, d9, [sp, #96]\n  stp d10, d11, [sp, #112]\n  stp d12, d13, [sp, #128]\n"
        "  stp d14, d15, [sp, #144]\n"
        "  mov x9, sp\n  str x9, [x0]\n  mov sp, x1\n"
        "  ldp x19, x20, [sp]\n  ldp x21, x22, [sp, #16]\n  ldp x23, x24, [sp, #32]\n"
        "  ldp x25, x26, [sp, #48]\n  ldp x27, x28, [sp, #64]\n  ldp x29, x30, [sp, #80]\n"
        "  ldp d8, d9, [sp, #96]\n  ldp d10, d11, [sp, #112]\n  ldp d12, d13, [sp, #128]\n"
        "  ldp d14, d15, [sp, #144]\n"
        "  add sp, sp, #160\n"
        "  ret\n"
        ".size mo_fiber_swap, . - mo_fiber_swap\n"
        ".globl mo_fiber_enter\n"
        ".type mo_fiber_enter, %function\n"
        "mo_fiber_enter:\n"
        "  mov x0, x20\n"
        "  blr x19\n"
        "  brk #1\n"
        ".size mo_fiber_enter, . - mo_fiber_enter\n");

enum { FRAME_WORDS = 20, AT_ENTRY = 0, AT_ARGUMENT = 1, AT_RETURN = 11 };
#endif

void mo_fiber_prepare(mo_fiber *fiber, const mo_stacks *stacks, size_t index, void (*entry)(void *),
                      void *argument)
{
    unsigned char *top = stacks->base + (index + 1) * stacks->each;
    /* The top is 16-byte aligned, and so is the frame: mo_fiber_enter starts with an aligned stack. */
    uintptr_t *frame = (uintptr_t *)(void *)top - FRAME_WORDS;
#if defined(__x86_64__)
    frame--; /* six registers and a return address are popped: seven words */
#endif
    memset(frame, 0, sizeof *frame * FRAME_WORDS);
    frame[AT_ENTRY] = (uintptr_t)entry;
    frame[AT_ARGUMENT] = (uintptr_t)argument;
    frame[AT_RETURN] = (uintptr_t)&mo_fiber_enter;
    fiber->sp = frame;
}

void mo_fiber_switch(mo_fiber *from, mo_fiber *to)
{
    mo_fiber_swap(&from->sp, to->sp);
}

#endif
