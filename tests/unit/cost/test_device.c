/* The table of GPUs: which row belongs to which GPU. */
#include "cost/device.h"

#include <criterion/criterion.h>

Test(device, named_as_drivers_name_them)
{
    static const struct {
        const char *reported, *row;
        int arch;
    } cases[] = {{"NVIDIA A100-SXM4-80GB", "NVIDIA A100", 80},
                 {"NVIDIA A100 80GB PCIe", "NVIDIA A100", 80},
                 {"NVIDIA A10", "NVIDIA A10", 86},
                 {"NVIDIA L40S", "NVIDIA L40S", 89},
                 {"NVIDIA GeForce RTX 4090", "NVIDIA GeForce RTX 4090", 89},
                 {"NVIDIA H100 80GB HBM3", "NVIDIA H100", 90},
                 {"NVIDIA H200", "NVIDIA H200", 90},
                 {"NVIDIA B200", "NVIDIA B200", 100}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const mo_device *row = mo_device_by_name(cases[i].reported, cases[i].arch);
        cr_assert_str_eq(row->name, cases[i].row);
        cr_assert(row->arch == cases[i].arch);
    }
}

/* A GPU that the table does not name, or names for another architecture, is taken as its architecture's. */
Test(device, others_by_architecture)
{
    cr_assert_str_eq(mo_device_by_name("NVIDIA GH200 480GB", 90)->name, "NVIDIA H200");
    cr_assert_str_eq(mo_device_by_name("NVIDIA L40", 89)->name, "NVIDIA L40S");
    cr_assert_str_eq(mo_device_by_name("NVIDIA A10G", 86)->name, "NVIDIA A10");
    cr_assert_str_eq(mo_device_by_name("NVIDIA H100", 80)->name, "NVIDIA A100");
    cr_assert_str_eq(mo_device_by_name("", 90)->name, "NVIDIA H200");
    cr_assert_null(mo_device_by_name("NVIDIA V100", 70));
}

/* Rankings without a GPU rest on these rows. */
Test(device, defaults_of_architectures)
{
    cr_assert_str_eq(mo_device_for_arch(80)->name, "NVIDIA A100");
    cr_assert_str_eq(mo_device_for_arch(89)->name, "NVIDIA L40S");
    cr_assert_str_eq(mo_device_for_arch(90)->name, "NVIDIA H200");
    cr_assert_str_eq(mo_device_for_arch(100)->name, "NVIDIA B200");
    cr_assert_null(mo_device_for_arch(70));
}
