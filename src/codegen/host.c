#include "codegen/host.h"

static const char *cuda_type(mo_dtype dtype)
{
    return dtype == MO_F16 ? "__half" : dtype == MO_BF16 ? "__nv_bfloat16" : "float";
}

static const char *device_type(mo_dtype dtype)
{
    return dtype == MO_F16 ? "mo_half" : dtype == MO_BF16 ? "mo_bf16" : "float";
}

static void launch_argument(mo_str *out, const mo_mugraph *graph, const mo_arg *arg)
{
    const mo_program *program = graph->program;
    if (arg->kind == MO_ARG_INPUT && arg->offset > 0)
        mo_str_printf(out, "(const char *)inputs[%d] + %lld", arg->index, (long long)arg->offset);
    else if (arg->kind == MO_ARG_INPUT)
        mo_str_printf(out, "(const %s *)inputs[%d]", device_type(program->tensors[arg->index].dtype),
                      arg->index);
    else if (arg->kind == MO_ARG_OUTPUT)
        mo_str_printf(out, "(%s *)outputs[%d]",
                      device_type(program->tensors[program->outputs[arg->index]].dtype), arg->index);
    else if (arg->index < 0)
        mo_str_printf(out, "(%s *)((char *)workspace + %lld)",
                      arg->index == MO_ARG_PARTS ? "float" : "unsigned", (long long)arg->offset);
    else
        mo_str_printf(out, "(%s *)((char *)workspace + %lld)", device_type(graph->tensors[arg->index].dtype),
                      (long long)arg->offset);
}

static const char *map_type(mo_dtype dtype)
{
    return dtype == MO_F16 ? "FLOAT16" : dtype == MO_BF16 ? "BFLOAT16" : "FLOAT32";
}

/* A local tensor map for one argument. */
static void emit_map(mo_str *out, const mo_mugraph *graph, const mo_arg *arg, int number)
{
    const mo_tensor_map *m = arg->map;
    mo_arg memory = *arg;
    memory.map = NULL;
    mo_str_printf(out, "    mo_tensor_map map%d;\n    {\n        const cuuint64_t size[] = {", number);
    for (int i = 0; i < m->rank; i++) mo_str_printf(out, "%s%lld", i > 0 ? ", " : "", (long long)m->size[i]);
    mo_str_add(out, "}, stride[] = {");
    for (int i = 0; i + 1 < m->rank; i++)
        mo_str_printf(out, "%s%lld", i > 0 ? ", " : "", (long long)m->stride[i]);
    mo_str_add(out, "};\n        const cuuint32_t box[] = {");
    for (int i = 0; i < m->rank; i++) mo_str_printf(out, "%s%d", i > 0 ? ", " : "", m->box[i]);
    mo_str_printf(
        out, "};\n        int status = mo_encode_map(&map%d, CU_TENSOR_MAP_DATA_TYPE_%s, %d, (const char *)",
        number, map_type(m->dtype), m->rank);
    launch_argument(out, graph, &memory);
    mo_str_printf(
        out,
        ", size, stride, box, CU_TENSOR_MAP_SWIZZLE_%s);\n        if (status != 0) return status;\n    }\n",
        m->swizzle == 0    ? "NONE"
        : m->swizzle == 32 ? "32B"
        : m->swizzle == 64 ? "64B"
                           : "128B");
}

static void launch_arguments(mo_str *out, const mo_mugraph *graph, const mo_launch *launch, int first_map)
{
    for (int i = 0; i < launch->n_args; i++) {
        if (i > 0) mo_str_add(out, ", ");
        if (launch->args[i].map != NULL)
            mo_str_printf(out, "map%d", first_map++);
        else
            launch_argument(out, graph, &launch->args[i]);
    }
}

/* A launch that may overlap the end of what stands before it in the stream. */
static void emit_early_launch(mo_str *out, const mo_mugraph *graph, const mo_launch *launch, int first_map)
{
    mo_str_add(out, "    {\n        cudaLaunchAttribute early = {};\n"
                    "        early.id = cudaLaunchAttributeProgrammaticStreamSerialization;\n"
                    "        early.val.programmaticStreamSerializationAllowed = 1;\n"
                    "        cudaLaunchConfig_t config = {};\n");
    mo_str_printf(out,
                  "        config.gridDim = dim3(%u, %u, %u);\n        config.blockDim = dim3(%u, %u, %u);\n"
                  "        config.dynamicSmemBytes = %u;\n",
                  launch->grid[0], launch->grid[1], launch->grid[2], launch->block[0], launch->block[1],
                  launch->block[2], launch->shared_bytes);
    mo_str_printf(
        out,
        "        config.stream = (cudaStream_t)stream;\n        config.attrs = &early;\n"
        "        config.numAttrs = 1;\n        error = cudaLaunchKernelEx(&config, %s,\n            ",
        launch->kernel);
    launch_arguments(out, graph, launch, first_map);
    mo_str_add(out, ");\n    }\n    if (error != cudaSuccess) return (int)error;\n");
}

static void emit_launch(mo_str *out, const mo_mugraph *graph, const mo_launch *launch, int *maps)
{
    int first = *maps;
    for (int i = 0; i < launch->n_args; i++)
        if (launch->args[i].map != NULL) emit_map(out, graph, &launch->args[i], (*maps)++);
    if (launch->shared_bytes > 48 * 1024)
        mo_str_printf(
            out,
            "    error = cudaFuncSetAttribute((const void *)%s, cudaFuncAttributeMaxDynamicSharedMemorySize, "
            "%u);\n    if (error != cudaSuccess) return (int)error;\n",
            launch->kernel, launch->shared_bytes);
    if (launch->early) {
        emit_early_launch(out, graph, launch, first);
        return;
    }
    mo_str_printf(out, "    %s<<<dim3(%u, %u, %u), dim3(%u, %u, %u), %u, (cudaStream_t)stream>>>(\n        ",
                  launch->kernel, launch->grid[0], launch->grid[1], launch->grid[2], launch->block[0],
                  launch->block[1], launch->block[2], launch->shared_bytes);
    launch_arguments(out, graph, launch, first);
    mo_str_add(out,
               ");\n    error = cudaGetLastError();\n    if (error != cudaSuccess) return (int)error;\n");
}

/* The body of a launch function: pointer checks, then every kernel in order. */
static void launch_function(mo_str *out, const mo_mugraph *graph, const mo_emitted *emitted, const char *name)
{
    const mo_program *program = graph->program;
    mo_str_printf(
        out, "int %s(const void *const *inputs, void *const *outputs, void *workspace, void *stream)\n{\n",
        name);
    mo_str_printf(
        out,
        "    for (int i = 0; i < %d; i++)\n        if ((unsigned long long)inputs[i] %% 16 != 0) return "
        "(int)cudaErrorMisalignedAddress;\n",
        program->n_inputs);
    mo_str_printf(
        out,
        "    for (int i = 0; i < %d; i++)\n        if ((unsigned long long)outputs[i] %% 16 != 0) return "
        "(int)cudaErrorMisalignedAddress;\n",
        program->n_outputs);
    if (emitted->workspace_bytes > 0)
        mo_str_add(out, "    if (workspace == nullptr || (unsigned long long)workspace % 256 != 0) return "
                        "(int)cudaErrorMisalignedAddress;\n");
    mo_str_add(out, "    (void)workspace;\n    (void)stream;\n    cudaError_t error = cudaSuccess;\n");
    int maps = 0;
    for (int k = 0; k < emitted->n_launches; k++) emit_launch(out, graph, &emitted->launches[k], &maps);
    mo_str_add(out, "    return (int)error;\n}\n");
}

static void typed_wrapper(mo_str *out, const mo_program *program)
{
    mo_str_printf(out,
                  "\n/* Typed form: inputs, outputs, workspace, stream. */\n[[maybe_unused]] static inline "
                  "int %s_call(",
                  program->symbol);
    for (int i = 0; i < program->n_inputs; i++)
        mo_str_printf(out, "const %s *in_%s, ", cuda_type(program->tensors[i].dtype), program->symbols[i]);
    for (int i = 0; i < program->n_outputs; i++)
        mo_str_printf(out, "%s *out%d_%s, ", cuda_type(program->tensors[program->outputs[i]].dtype), i,
                      program->symbols[program->outputs[i]]);
    mo_str_add(out, "void *workspace, cudaStream_t stream)\n{\n    const void *inputs[] = {");
    for (int i = 0; i < program->n_inputs; i++)
        mo_str_printf(out, "%sin_%s", i > 0 ? ", " : "", program->symbols[i]);
    mo_str_add(out, "};\n    void *outputs[] = {");
    for (int i = 0; i < program->n_outputs; i++)
        mo_str_printf(out, "%sout%d_%s", i > 0 ? ", " : "", i, program->symbols[program->outputs[i]]);
    mo_str_printf(out, "};\n    return %s_launch(inputs, outputs, workspace, (void *)stream);\n}\n",
                  program->symbol);
}

static bool has_maps(const mo_emitted *emitted)
{
    for (int k = 0; k < emitted->n_launches; k++)
        for (int i = 0; i < emitted->launches[k].n_args; i++)
            if (emitted->launches[k].args[i].map != NULL) return true;
    return false;
}

/* The encoder is a function of the driver; the runtime finds it, so that nothing but cudart is linked. */
static const char encode_helper[] =
    "#include <cuda.h>\n\n"
    "static int mo_encode_map(mo_tensor_map *map, CUtensorMapDataType type, unsigned rank, const void "
    "*base,\n"
    "                         const cuuint64_t *size, const cuuint64_t *stride, const cuuint32_t *box,\n"
    "                         CUtensorMapSwizzle swizzle)\n{\n"
    "    typedef CUresult encode(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t "
    "*,\n"
    "                            const cuuint64_t *, const cuuint32_t *, const cuuint32_t *, "
    "CUtensorMapInterleave,\n"
    "                            CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);\n"
    "    static_assert(sizeof *map == sizeof(CUtensorMap), \"a tensor map\");\n"
    "    void *found = nullptr;\n    cudaDriverEntryPointQueryResult result;\n"
    "#if CUDART_VERSION >= 12050\n"
    "    cudaError_t error = cudaGetDriverEntryPointByVersion(\"cuTensorMapEncodeTiled\", &found, 12000, "
    "cudaEnableDefault, &result);\n"
    "#else\n"
    "    cudaError_t error = cudaGetDriverEntryPoint(\"cuTensorMapEncodeTiled\", &found, cudaEnableDefault, "
    "&result);\n"
    "#endif\n"
    "    if (error != cudaSuccess) return (int)error;\n"
    "    if (found == nullptr) return (int)cudaErrorNotSupported;\n"
    "    const cuuint32_t ones[] = {1, 1, 1};\n"
    "    CUresult r = ((encode *)found)((CUtensorMap *)map, type, rank, (void *)base, size, stride, box, "
    "ones,\n"
    "                                   CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, "
    "CU_TENSOR_MAP_L2_PROMOTION_L2_256B,\n"
    "                                   CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);\n"
    "    return r == CUDA_SUCCESS ? 0 : (int)cudaErrorInvalidValue;\n}\n\n";

static void workspace_init(mo_str *out, const char *symbol, int64_t zeroed)
{
    mo_str_printf(out,
                  "/* Once for each workspace; %s. */\nextern \"C\" int %s_workspace_init(void *workspace, "
                  "void *stream)\n{\n",
                  zeroed > 0 ? "each launch leaves it ready for the next"
                             : "nothing needs to be prepared for these kernels",
                  symbol);
    if (zeroed > 0)
        mo_str_printf(out,
                      "    return (int)cudaMemsetAsync(workspace, 0, %lld, (cudaStream_t)stream);\n}\n\n",
                      (long long)zeroed);
    else
        mo_str_add(out, "    (void)workspace;\n    (void)stream;\n    return 0;\n}\n\n");
}

void mo_emit_host(mo_str *out, const mo_mugraph *graph, const mo_emitted *emitted)
{
    const char *symbol = graph->program->symbol;
    mo_str_add(out, "#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n#include <cuda_runtime.h>\n\n");
    if (has_maps(emitted)) mo_str_add(out, encode_helper);
    mo_str_printf(out, "extern \"C\" size_t %s_workspace_bytes(void)\n{\n    return %lld;\n}\n\n", symbol,
                  (long long)emitted->workspace_bytes);
    workspace_init(out, symbol, emitted->zeroed_bytes);
    mo_str_add(out,
               "/* Returns 0 or a cudaError_t. Inputs and outputs in the program's order. */\nextern \"C\" ");
    mo_str name = {0};
    mo_str_printf(&name, "%s_launch", symbol);
    launch_function(out, graph, emitted, mo_str_text(&name));
    mo_str_free(&name);
    typed_wrapper(out, graph->program);
}

/* Elements of the buffer that holds a strided tensor. */
static long long span(const mo_tensor *t)
{
    int64_t last = 0;
    for (int d = 0; d < t->shape.rank; d++) last += t->strides[d] * (t->shape.dim[d] - 1);
    return (long long)last + 1;
}

static const char main_helpers[] =
    "#include <cmath>\n#include <cstdio>\n#include <cstdlib>\n#include <vector>\n\n"
    "static unsigned long long mo_test_state = 1;\n\n"
    "/* Sum of twelve uniform numbers: close enough to N(0, 1). */\n"
    "static float mo_test_normal()\n{\n    float sum = -6.0f;\n    for (int i = 0; i < 12; i++) {\n"
    "        mo_test_state = mo_test_state * 6364136223846793005ull + 1442695040888963407ull;\n"
    "        sum += (float)(mo_test_state >> 40) / 16777216.0f;\n    }\n    return sum;\n}\n\n"
    "static void mo_test_check(int status, const char *what)\n{\n    if (status == 0) return;\n"
    "    printf(\"%s: %s\\n\", what, cudaGetErrorString((cudaError_t)status));\n    exit(1);\n}\n\n"
    "template <typename T> static T *mo_test_input(long long count, float scale)\n{\n    std::vector<T> "
    "host(count);\n"
    "    for (T &x : host) x = T(mo_test_normal() * scale);\n    T *device = nullptr;\n"
    "    mo_test_check((int)cudaMalloc(&device, count * sizeof(T)), \"cudaMalloc\");\n"
    "    mo_test_check((int)cudaMemcpy(device, host.data(), count * sizeof(T), cudaMemcpyHostToDevice), "
    "\"cudaMemcpy\");\n"
    "    return device;\n}\n\n"
    "static void *mo_test_poisoned(size_t bytes)\n{\n    void *device = nullptr;\n    if (bytes == 0) return "
    "nullptr;\n"
    "    mo_test_check((int)cudaMalloc(&device, bytes), \"cudaMalloc\");\n"
    "    mo_test_check((int)cudaMemset(device, 0xff, bytes), \"cudaMemset\");\n    return device;\n}\n\n"
    "/* Relative error in the Frobenius norm; NaN counts as failure. */\n"
    "template <typename T> static bool mo_test_equal(const void *ours, const void *theirs, long long count, "
    "double limit)\n{\n"
    "    std::vector<T> a(count), b(count);\n"
    "    mo_test_check((int)cudaMemcpy(a.data(), ours, count * sizeof(T), cudaMemcpyDeviceToHost), "
    "\"cudaMemcpy\");\n"
    "    mo_test_check((int)cudaMemcpy(b.data(), theirs, count * sizeof(T), cudaMemcpyDeviceToHost), "
    "\"cudaMemcpy\");\n"
    "    double difference = 0, norm = 0;\n    for (long long i = 0; i < count; i++) {\n"
    "        double x = (double)(float)a[i], y = (double)(float)b[i];\n        difference += (x - y) * (x - "
    "y);\n"
    "        norm += y * y;\n    }\n    double error = norm > 0 ? sqrt(difference / norm) : "
    "sqrt(difference);\n"
    "    if (error <= limit) return true;\n    printf(\"relative error %g exceeds %g\\n\", error, limit);\n"
    "    return false;\n}\n\n";

static bool is_right_operand(const mo_program *program, int input)
{
    for (int n = 0; n < program->n_nodes; n++) {
        const mo_node *node = &program->nodes[n];
        if (node->op == MO_OP_MATMUL && node->inputs[1].tensor == input) return true;
    }
    return false;
}

/* Weights are scaled so that products stay near 1. */
static double input_scale(const mo_program *program, int input)
{
    const mo_tensor *t = &program->tensors[input];
    if (t->shape.rank < 2 || !is_right_operand(program, input)) return 1.0;
    int64_t k = t->shape.dim[t->shape.rank - 2];
    double scale = 1.0;
    while (k >= 4) {
        k /= 4;
        scale /= 2;
    }
    return scale;
}

void mo_emit_main(mo_str *out, const mo_mugraph *reference, const mo_emitted *emitted)
{
    const mo_program *program = reference->program;
    mo_str_add(out, main_helpers);
    mo_str_add(out, "static ");
    launch_function(out, reference, emitted, "mo_test_reference");
    mo_str_add(out, "\nint main()\n{\n");
    mo_str_printf(out, "    const void *inputs[%d];\n    void *outputs[%d], *expected[%d];\n",
                  program->n_inputs + 1, program->n_outputs, program->n_outputs);
    for (int i = 0; i < program->n_inputs; i++)
        mo_str_printf(out, "    inputs[%d] = mo_test_input<%s>(%lld, (float)%g);\n", i,
                      cuda_type(program->tensors[i].dtype), span(&program->tensors[i]),
                      input_scale(program, i));
    for (int i = 0; i < program->n_outputs; i++) {
        const mo_tensor *t = &program->tensors[program->outputs[i]];
        mo_str_printf(out,
                      "    outputs[%d] = mo_test_poisoned(%lldll * %d);\n    expected[%d] = "
                      "mo_test_poisoned(%lldll * %d);\n",
                      i, (long long)mo_shape_elements(t->shape), mo_dtype_size(t->dtype), i,
                      (long long)mo_shape_elements(t->shape), mo_dtype_size(t->dtype));
    }
    mo_str_printf(out, "    void *workspace = mo_test_poisoned(%s_workspace_bytes());\n", program->symbol);
    mo_str_printf(out, "    mo_test_check(%s_workspace_init(workspace, nullptr), \"workspace_init\");\n",
                  program->symbol);
    mo_str_printf(out, "    mo_test_check(%s_launch(inputs, outputs, workspace, nullptr), \"launch\");\n",
                  program->symbol);
    mo_str_printf(out,
                  "    mo_test_check(mo_test_reference(inputs, expected, mo_test_poisoned(%lld), nullptr), "
                  "\"reference\");\n",
                  (long long)emitted->workspace_bytes);
    mo_str_add(out, "    mo_test_check((int)cudaDeviceSynchronize(), \"kernels\");\n    bool ok = true;\n");
    for (int i = 0; i < program->n_outputs; i++) {
        const mo_tensor *t = &program->tensors[program->outputs[i]];
        bool low = t->compute == MO_BF16 || t->dtype == MO_BF16;
        bool half = t->compute == MO_F16 || t->dtype == MO_F16;
        mo_str_printf(out, "    ok = mo_test_equal<%s>(outputs[%d], expected[%d], %lld, %s) && ok;\n",
                      cuda_type(t->dtype), i, i, (long long)mo_shape_elements(t->shape),
                      low    ? "3e-2"
                      : half ? "4e-3"
                             : "1e-5");
    }
    mo_str_add(out, "    puts(ok ? \"ok\" : \"wrong\");\n    return ok ? 0 : 1;\n}\n");
}

static const char *const place_names[] = {"grid", "loop", "whole"};

void mo_emit_picture(mo_str *out, const mo_mugraph *graph, int index)
{
    const mo_kernel *kernel = &graph->kernels[index];
    const mo_prim *g = kernel->body;
    mo_axes used = 0;
    for (int i = 0; i < g->n_nodes; i++) used |= g->nodes[i].axes;
    mo_str_printf(out, "%s:", kernel->name);
    MO_FOR_AXES(a, used)
        mo_str_printf(out, " %s=%lld on %s by %lld;", g->axes[a].name, (long long)g->axes[a].extent,
                      place_names[kernel->schedule.place[a]], (long long)kernel->schedule.tile[a]);
    mo_str_printf(out, " %d threads\n", kernel->schedule.threads);
    for (int i = 1; i < kernel->n_moves; i++)
        mo_str_printf(out, "  <- %s\n", graph->tensors[kernel->moves[i]].symbol);
    if (kernel->n_moves > 0) mo_str_printf(out, "  -> %s\n", graph->tensors[kernel->moves[0]].symbol);
    for (int i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].op == MO_OP_ITER)
            mo_str_printf(out, "  %%%d <- %s\n", i, graph->tensors[g->nodes[i].access.tensor].symbol);
    for (int s = 0; s < g->n_savers; s++)
        mo_str_printf(out, "  %%%d -> %s\n", g->savers[s].node,
                      graph->tensors[g->savers[s].access.tensor].symbol);
}
