#include "optimize/pipeline.h"

int mo_pipeline_stream(bool boxes, mo_passes off, mo_pipeline choices[MO_PIPELINE_CHOICES])
{
    int count = 0;
    if (off & MO_PASS_PIPELINE) {
        choices[0] = (mo_pipeline){MO_COPY_ASYNC, 1};
        return 1;
    }
    for (int stages = 2; stages <= 4; stages++) choices[count++] = (mo_pipeline){MO_COPY_ASYNC, stages};
    /* A ring of boxes is refilled behind its use and needs no spare slab. */
    for (int copy = MO_COPY_TENSOR; boxes && copy <= MO_COPY_DIRECT; copy++)
        for (int stages = 1; stages <= 3; stages++) choices[count++] = (mo_pipeline){(mo_copy)copy, stages};
    return count;
}

int mo_pipeline_wgmma(mo_passes off, mo_pipeline choices[MO_PIPELINE_CHOICES])
{
    if (off & (MO_PASS_PIPELINE | MO_PASS_LAYOUT))
        return 0; /* no boxes, or none that the matrix units read */
    for (int i = 0; i < 4; i++) choices[i] = (mo_pipeline){MO_COPY_TENSOR, i + 1};
    return 4;
}

int mo_pipeline_chain(mo_passes off, mo_pipeline choices[MO_PIPELINE_CHOICES])
{
    bool on = !(off & MO_PASS_PIPELINE);
    choices[0] = (mo_pipeline){MO_COPY_ASYNC, on ? 2 : 1};
    choices[1] = (mo_pipeline){MO_COPY_ASYNC, 3};
    return on ? 2 : 1;
}

/* Largest copy by a thread whose size divides every stride and extent involved. */
static void choose_chunk(mo_tile *tile, const mo_prim_node *node, int64_t contiguous_extent, int64_t offset)
{
    int size = mo_dtype_size(tile->dtype);
    tile->copy = MO_TILE_SCALAR;
    tile->chunk = 1;
    if (tile->col_step != 1) return;
    for (int chunk = 16 / size; chunk * size >= 4; chunk /= 2) {
        bool fits = contiguous_extent % chunk == 0 && tile->row_step % chunk == 0 && tile->cols % chunk == 0;
        fits &= offset % chunk == 0;
        int contiguous = tile->inner_rows ? tile->axis : tile->inner;
        MO_FOR_AXES(a, node->axes)
            if (a != contiguous && node->access.stride[a] % chunk != 0) fits = false;
        if (!fits) continue;
        tile->copy = MO_TILE_CHUNKS;
        tile->chunk = chunk;
        return;
    }
}

/* Can the tensor copy engine fill the tile? Strides and the start of the tensor are multiples of 16 bytes, a
 * box has at most 256 rows and columns, and there is one coordinate for a third axis. */
static void choose_box(const mo_stream *roles, const mo_prim_node *node, int64_t offset, mo_tile *tile)
{
    enum { UNIT = 8, MOST = 256 };
    bool fits = roles->mma && mo_dtype_size(tile->dtype) == 2 && tile->col_step == 1;
    fits &= tile->row_step % UNIT == 0 && offset % UNIT == 0;
    fits &= tile->cols % UNIT == 0 && tile->cols <= MOST && tile->rows <= MOST && tile->rows % UNIT == 0;
    fits &= tile->row_step > 0 || tile->axis < 0;
    tile->batch_axis = -1;
    MO_FOR_AXES(a, node->axes) {
        if (a == tile->axis || a == tile->inner || node->access.stride[a] == 0) continue;
        fits &= tile->batch_axis < 0 && node->access.stride[a] % UNIT == 0;
        tile->batch_axis = a;
    }
    if (fits) tile->copy = MO_TILE_BOX;
}

void mo_pipeline_tile(const mo_plan_context *context, const mo_kernel *kernel, const mo_stream *roles,
                      mo_tile *tile)
{
    const mo_prim *g = kernel->body;
    const mo_prim_node *node = &g->nodes[tile->node];
    int64_t offset = mo_plan_offset(context, node->access.tensor);
    choose_chunk(tile, node, g->axes[tile->inner_rows ? tile->axis : tile->inner].extent, offset);
    if (kernel->schedule.copy != MO_COPY_ASYNC && tile->inner == kernel->schedule.loop_axis)
        choose_box(roles, node, offset, tile);
}
