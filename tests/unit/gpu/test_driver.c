#include "gpu/driver.h"

#include <criterion/criterion.h>
#include <string.h>

Test(driver, says_what_was_tried)
{
    static const char *const names[] = {"libmissing-one.so.1", "libmissing-two.so", NULL};
    mo_cuda cuda;
    mo_error error = {0};
    cr_assert_eq(mo_cuda_load_from(&cuda, names, &error), MO_ERR_ENV);
    cr_assert_eq(error.status, MO_ERR_ENV);
    cr_assert_not_null(strstr(error.text, "libmissing-one.so.1"));
    cr_assert_not_null(strstr(error.text, "libmissing-two.so"));
    cr_assert_not_null(strstr(error.text, "hint: "));
    cr_assert_null(strchr(error.text + strlen(error.text) - 1, '\n'));
}

Test(driver, a_library_without_the_functions_is_named)
{
    static const char *const names[] = {"libm.so.6", NULL};
    mo_cuda cuda;
    mo_error error = {0};
    cr_assert_eq(mo_cuda_load_from(&cuda, names, &error), MO_ERR_ENV);
    cr_assert_not_null(strstr(error.text, "libm.so.6: lacks cuInit"), "%s", error.text);
}

static mo_cu_result name_of(mo_cu_result result, const char **name)
{
    *name = "FAKE_NAME";
    return result == 999;
}

Test(driver, errors_carry_name_and_place)
{
    mo_cuda cuda = {.error_name = name_of, .error_string = name_of};
    mo_error error = {0};
    cr_assert(mo_cuda_ok(&cuda, 0, "doing nothing", &error));
    cr_assert_eq(error.status, MO_OK);
    cr_assert_not(mo_cuda_ok(&cuda, 700, "running", &error));
    cr_assert_eq(error.status, MO_ERR_ENV);
    cr_assert_str_eq(error.text, "running: FAKE_NAME (700: FAKE_NAME)");
    cr_assert_not(mo_cuda_ok(&cuda, 999, "running", &error));
    cr_assert_str_eq(error.text, "running: unknown error (999: no explanation)");
}
