#include "gpu/nvrtc.h"

#include <criterion/criterion.h>

static const char log_text[] =
    "fused.cu(3): warning #177-D: variable \"x\" was declared but never referenced\n"
    "ptxas info    : 0 bytes gmem\n"
    "ptxas info    : Compiling entry function 'first' for 'sm_90a'\n"
    "ptxas info    : Function properties for first\n"
    "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    "ptxas info    : Used 80 registers, used 1 barriers, 1024 bytes smem, 400 bytes cmem[0]\n"
    "ptxas info    : Compile time = 11.5 ms\n"
    "ptxas info    : Compiling entry function 'second_kernel' for 'sm_90a'\n"
    "ptxas info    : Function properties for second_kernel\n"
    "ptxas         .     96 bytes stack frame, 40 bytes spill stores, 48 bytes spill loads\n"
    "ptxas info    : Used 255 registers";

Test(ptxas, reads_each_kernel)
{
    mo_kernel_usage u[4];
    cr_assert_eq(mo_ptxas_parse(log_text, NULL, 0), 2);
    cr_assert_eq(mo_ptxas_parse(log_text, u, 4), 2);
    cr_assert_str_eq(u[0].name, "first");
    cr_assert(u[0].registers == 80 && u[0].shared_static == 1024);
    cr_assert(u[0].spill_stores == 0 && u[0].stack == 0);
    cr_assert_str_eq(u[1].name, "second_kernel");
    cr_assert(u[1].registers == 255 && u[1].shared_static == 0);
    cr_assert(u[1].stack == 96 && u[1].spill_stores == 40 && u[1].spill_loads == 48);
}

Test(ptxas, stores_no_more_than_fits)
{
    mo_kernel_usage u[2] = {{.name = "untouched"}, {.name = "untouched"}};
    cr_assert_eq(mo_ptxas_parse(log_text, u, 1), 1);
    cr_assert_str_eq(u[0].name, "first");
    cr_assert_str_eq(u[1].name, "untouched");
    cr_assert_eq(u[0].registers, 80, "lines of the second kernel must not reach the first");
}

Test(ptxas, other_text_has_no_kernels)
{
    cr_assert_eq(mo_ptxas_parse("", NULL, 0), 0);
    cr_assert_eq(mo_ptxas_parse("fused.cu(1): error: identifier \"y\" is undefined\n", NULL, 0), 0);
}
