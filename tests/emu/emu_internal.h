/* Inside of the emulator, shared by its files.
 *
 * A group is the set of blocks that run together: a cluster, a cooperative grid, else one block. Time is
 * kept in vector clocks: clock(t, s) is the latest step of slot s that thread t knows to be over. Slots are
 * the threads of the group, then a few per block for bulk copies. An access is known by its slot and step;
 * a later access by t is ordered after it if clock(t, slot) >= step. */
#ifndef MO_EMU_INTERNAL_H
#define MO_EMU_INTERNAL_H

#include "emu.h"
#include "emu_fiber.h"

enum {
    WARP = 32,
    MAX_BARRIERS = 16,
    MAX_MBARS = 64,
    BULK_SLOTS = 8, /* per block; an mbarrier uses slot (index % BULK_SLOTS) */
    CELL_BYTES = 2, /* granularity of race detection */
    CELL_READERS = 4,
    MAX_GROUP_THREADS = 8192,
    STACK_BYTES = 128 << 10
};

/* The accesses of two bytes that matter for races: the last write and some of the reads since. */
typedef struct {
    uint32_t write_step, read_step[CELL_READERS]; /* 0: none */
    uint16_t write_slot, read_slot[CELL_READERS];
    uint16_t flight; /* 1 + the slot of an asynchronous copy on its way here, 0: none */
    uint32_t write_pc, read_pc[CELL_READERS];
    uint32_t group;                 /* 1 + group of these accesses (global memory) */
    bool atomic;                    /* the last write was atomic or relaxed */
    bool written;                   /* by this launch */
    bool other_reads, other_writes; /* by earlier groups that are not ordered before this one */
} cell;

typedef enum { READ, WRITE, ATOMIC_READ, ATOMIC_WRITE } access_kind;

typedef enum { RUNNABLE, POLLING, IN_WARP, IN_BARRIER, IN_CLUSTER, DONE } fiber_state;

/* A piece of a cp.async: bytes of the thread's own block, from global memory. */
typedef struct {
    unsigned offset, bytes, valid;
    const unsigned char *from;
    unsigned group; /* commits that went before it */
} copy;

typedef struct {
    mo_emu *emu;
    mo_fiber fiber;
    fiber_state state;
    unsigned index; /* in the group; also its clock slot */
    unsigned block, warp, lane;
    mo_emu_place place;
    const char *waits_for;
    int wait_detail; /* barrier id or source line */
    void *args;      /* of the warp-wide operation it is in */
    const void *pc;
    int wait_barrier;                       /* the barrier it waits at, -1: none */
    unsigned cluster_phase, cluster_waited; /* arrivals and waits at the cluster barrier */
    copy *copies;                           /* issued, not waited for, oldest first */
    unsigned n_copies, cap_copies;
    unsigned commit_group;
} thread;

typedef void warp_operation(mo_emu *emu, thread **lanes);

typedef struct {
    unsigned live, arrived; /* of its lanes; in the warp-wide operation */
    const char *operation;
    int detail;
    unsigned ready;    /* bit set of the lanes that can run */
    unsigned position; /* in mo_emu.ready */
} warp;

typedef struct {
    unsigned arrived, expected;
    int line;
    uint32_t *arrivals; /* per warp: the lanes that arrived */
    uint32_t *clock;
} barrier;

typedef struct {
    unsigned offset, arrivals, pending, phase, slot;
    unsigned init_slot;
    uint32_t init_step, step;     /* of the initialising thread; of the copies that ended here */
    int64_t bytes;                /* announced minus landed */
    uint32_t *clock, *done_clock; /* gathered in this phase; as the last phase ended */
} mbar;

/* The barrier of a cluster. */
typedef struct {
    unsigned live, arrived, phase;
    uint32_t *clock, *done_clock;
} cluster;

/* A bulk copy on its way: a box of a tensor map, or with map.rank 0 contiguous bytes at `from`. */
typedef struct bulk {
    struct bulk *next;
    unsigned block, bar; /* where it lands; number of its mbarrier in the block */
    unsigned offset, bytes;
    const unsigned char *from;
    mo_emu_tensor_map map;
    int at[3];
} bulk;

typedef struct {
    mo_emu_dim index;
    unsigned first_thread, live;
    unsigned cluster;      /* number within the group */
    unsigned rank;         /* within the cluster */
    unsigned char *shared; /* where its bytes are while another block runs: dynamic, then static */
    cell *cells;
    warp *warps;
    barrier barriers[MAX_BARRIERS];
    mbar mbars[MAX_MBARS];
    unsigned n_mbars;
} block;

typedef struct {
    const char *name;
    unsigned char *bytes;
    size_t size;
    bool writable;
    cell *cells; /* of writable buffers, during a launch */
} buffer;

/* A word of global memory used to synchronise blocks. */
typedef struct {
    const void *at;
    uint32_t *clock; /* of the current group */
    uint32_t clock_group;
    uint64_t *groups; /* groups that released here */
} sync_word;

struct mo_emu {
    /* the module */
    void *library;
    char dir[64];
    void (*attach)(mo_emu *self, const mo_emu_api *api, const void *stacks, size_t size);
    unsigned char *home;    /* mo_smem: dynamic shared memory of the running block */
    unsigned char *statics; /* its static shared memory; offsets from MO_EMU_SHARED_LIMIT on */
    size_t statics_size;
    const unsigned char *image;
    size_t image_size;
    const char *name;
    /* global memory */
    buffer *buffers;
    unsigned n_buffers, last_buffer;
    sync_word *words;
    unsigned n_words;
    /* the launch */
    const mo_emu_launch *launch;
    void (*entry)(void);
    uint64_t rng;
    bool late, greedy;
    unsigned group, n_groups;
    uint64_t *ordered_groups; /* groups whose writes this group has acquired */
    /* the group */
    unsigned threads_per_block, warps_per_block, n_blocks, n_threads, n_slots;
    unsigned cluster_size, n_clusters;
    block *blocks;
    thread *threads;
    uint32_t *clocks;     /* [n_threads][n_slots] */
    unsigned clock_slots; /* n_slots, or 0 when races are not looked for: clocks stand still */
    cluster *clusters;
    bulk *bulks;
    unsigned loaded; /* block whose bytes are at home */
    /* scheduling */
    mo_stacks stacks;
    mo_fiber main_fiber;
    thread *running;
    unsigned *ready, n_ready;
    uint64_t idle_polls;
    unsigned evictions; /* of remembered reads */
    mo_emu_counts counts;
    bool failed;
    char error[4096];
};

/* ---- emu_module.c ---- */
const mo_emu_api *mo_emu_callbacks(void);
void (*mo_emu_find_kernel(mo_emu *emu, const char *name))(void);

/* ---- emu_error.c ---- */
/* Ends the launch with a message; from a fiber it does not return. `t` NULL: no thread to blame. */
_Noreturn void mo_emu_fail(mo_emu *emu, const thread *t, const void *pc, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Adds the source lines of a code address, if they can be found. */
void mo_emu_describe_pc(mo_emu *emu, uint32_t pc, char *text, size_t size);
void mo_emu_describe_thread(const mo_emu *emu, unsigned slot, char *text, size_t size);

/* ---- emu_sched.c ---- */
uint64_t mo_emu_random(mo_emu *emu, uint64_t n);
void mo_emu_block_thread(mo_emu *emu, thread *t, fiber_state state, const char *what, int detail);
void mo_emu_make_ready(mo_emu *emu, thread *t);
_Noreturn void mo_emu_abandon(mo_emu *emu);

/* ---- emu_group.c ---- */
bool mo_emu_group_open(mo_emu *emu);
void mo_emu_group_start(mo_emu *emu, unsigned group);
void mo_emu_group_close(mo_emu *emu);
void mo_emu_switch_block(mo_emu *emu, unsigned block);
cell *mo_emu_shared_cell(mo_emu *emu, unsigned block, size_t offset);

/* ---- emu_memory.c ---- */
typedef struct {
    bool shared;
    unsigned block; /* shared */
    size_t offset;
    buffer *buffer; /* global */
} location;

static inline uint32_t *mo_emu_clock(mo_emu *emu, const thread *t)
{
    return emu->clocks + (size_t)t->index * emu->n_slots;
}

static inline uint32_t mo_emu_pc32(const mo_emu *emu, const void *pc)
{
    return (uint32_t)((const unsigned char *)pc - emu->image);
}

/* Pointer to the bytes of a block's shared memory, wherever they are now. */
unsigned char *mo_emu_shared_bytes(mo_emu *emu, unsigned block, size_t offset);
/* Finds and checks a pointer: range, alignment to `align`, kind of memory. Fails on errors. */
location mo_emu_locate(mo_emu *emu, thread *t, const void *pc, const char *what, const void *at, size_t bytes,
                       size_t align, int space);
/* Records an access by t and fails on a race. */
void mo_emu_touch(mo_emu *emu, thread *t, const void *pc, const location *where, size_t bytes,
                  access_kind kind);
/* An asynchronous copy into shared memory: while it is on its way, and when its end is known at `step`. */
void mo_emu_flight_begin(mo_emu *emu, thread *t, const void *pc, unsigned number, unsigned offset,
                         unsigned bytes, unsigned slot);
void mo_emu_flight_end(mo_emu *emu, unsigned number, unsigned offset, unsigned bytes, unsigned slot,
                       uint32_t step);
/* Clock operations. */
void mo_emu_clock_join(uint32_t *into, const uint32_t *from, unsigned n);
void mo_emu_step(mo_emu *emu, thread *t);

/* ---- emu_sync.c ---- */
/* All lanes of a warp meet in `operation`; the last one runs it for all. */
void mo_emu_meet(mo_emu *emu, const void *pc, const char *name, int detail, void *args,
                 warp_operation *operation);
void mo_emu_thread_exits(mo_emu *emu, thread *t);
void mo_emu_sync_threads(mo_emu *emu, const void *pc, int line);
void mo_emu_barrier(mo_emu *emu, const void *pc, int id, int threads, bool wait);
void mo_emu_sync_warp(mo_emu *emu, const void *pc);
void mo_emu_cluster_arrive(mo_emu *emu, const void *pc);
void mo_emu_cluster_wait(mo_emu *emu, const void *pc);
void mo_emu_poll(mo_emu *emu, const char *what);

/* ---- emu_async.c ---- */
void mo_emu_cp_async(mo_emu *emu, const void *pc, void *to, const void *from, int bytes, int valid);
void mo_emu_cp_commit(mo_emu *emu, const void *pc);
void mo_emu_cp_wait(mo_emu *emu, const void *pc, int pending);
void mo_emu_copies_end(mo_emu *emu, thread *t);

/* ---- emu_bulk.c ---- */
void mo_emu_mbar_init(mo_emu *emu, const void *pc, unsigned long long *bar, unsigned arrivals);
void mo_emu_mbar_arrive(mo_emu *emu, const void *pc, unsigned long long *bar, unsigned bytes);
bool mo_emu_mbar_try_wait(mo_emu *emu, const void *pc, unsigned long long *bar, unsigned parity);
void mo_emu_tma_load(mo_emu *emu, const void *pc, void *to, const void *map, int rank, const int *at,
                     unsigned long long *bar);
void mo_emu_bulk_load(mo_emu *emu, const void *pc, void *to, const void *from, unsigned bytes,
                      unsigned long long *bar);
bool mo_emu_bulks_left(const mo_emu *emu);

/* ---- emu_warp.c ---- */
unsigned mo_emu_shuffle(mo_emu *emu, const void *pc, unsigned x, int kind, int by);
unsigned mo_emu_ballot(mo_emu *emu, const void *pc, bool vote);
void mo_emu_ldmatrix(mo_emu *emu, const void *pc, unsigned *r, const void *row, int count, bool trans);
void mo_emu_mma(mo_emu *emu, const void *pc, int kind, float *d, const unsigned *a, const unsigned *b);
void mo_emu_wgmma(mo_emu *emu, const void *pc, float *d, unsigned long long a, unsigned long long b,
                  int kind);

/* ---- emu_global.c: loads, stores and synchronisation through global memory ---- */
void mo_emu_access(mo_emu *emu, const void *pc, const void *at, unsigned bytes, bool write);
void mo_emu_load(mo_emu *emu, const void *pc, void *to, const void *from, unsigned bytes, int space);
void mo_emu_store(mo_emu *emu, const void *pc, void *to, const void *from, unsigned bytes, int space);
void mo_emu_load_relaxed(mo_emu *emu, const void *pc, void *to, const void *from, unsigned bytes,
                         bool acquire);
void mo_emu_store_relaxed(mo_emu *emu, const void *pc, void *to, const void *from, unsigned bytes,
                          bool release);
unsigned mo_emu_atomic_add(mo_emu *emu, const void *pc, unsigned *at, unsigned x);
void mo_emu_add_f32(mo_emu *emu, const void *pc, float *at, float x);
void mo_emu_words_clear(mo_emu *emu);

#endif
