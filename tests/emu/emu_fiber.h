/* Fibers: an assembly switch on x86-64 and AArch64, ucontext elsewhere and under AddressSanitizer. */
#ifndef MO_EMU_FIBER_H
#define MO_EMU_FIBER_H

#include <stdbool.h>
#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__)
#define MO_FIBER_UCONTEXT 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MO_FIBER_UCONTEXT 1
#endif
#endif
#if !defined(MO_FIBER_UCONTEXT)
#if defined(__x86_64__) || defined(__aarch64__)
#define MO_FIBER_UCONTEXT 0
#else
#define MO_FIBER_UCONTEXT 1
#endif
#endif

#if MO_FIBER_UCONTEXT
#include <ucontext.h>
#endif

typedef struct {
#if MO_FIBER_UCONTEXT
    ucontext_t context;
    void *stack, *fake_stack; /* what AddressSanitizer wants to know; stack NULL: the thread's own */
    size_t stack_size;
#else
    void *sp;
#endif
} mo_fiber;

/* Many equal stacks in one mapping, each with a guard page below it. */
typedef struct {
    unsigned char *base;
    size_t each, count;
} mo_stacks;

bool mo_stacks_open(mo_stacks *stacks, size_t count, size_t each);
void mo_stacks_close(mo_stacks *stacks);

/* The fiber will run entry(argument) on stack `index`; entry must never return. */
void mo_fiber_prepare(mo_fiber *fiber, const mo_stacks *stacks, size_t index, void (*entry)(void *),
                      void *argument);
/* Leaves `from` (filled in) and runs `to`. */
void mo_fiber_switch(mo_fiber *from, mo_fiber *to);

#endif
