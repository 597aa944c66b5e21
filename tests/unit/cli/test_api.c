#include "mirage_opt.h"

#include <criterion/criterion.h>
#include <string.h>

static const char text[] =
    "{\"format\": \"mirage-opt/1\", \"inputs\": [{\"name\": \"X\", \"shape\": [8, 64], "
    "\"dtype\": \"f16\"}], \"nodes\": [{\"op\": \"exp\", \"inputs\": [\"X\"], "
    "\"output\": \"Y\"}], \"outputs\": [\"Y\"]}";

Test(api, version)
{
    cr_assert_str_eq(mirage_opt_version(), MO_VERSION);
}

Test(api, a_run_gives_text_report_and_verdict)
{
    static const char *const options[] = {"--no-gpu", "--arch", "sm_80"};
    mirage_opt_result result;
    cr_assert_eq(mirage_opt_run(text, sizeof text - 1, "exp.json", options, 3, &result), MIRAGE_OPT_OK);
    cr_assert_not_null(strstr(result.cuda, "exp_launch"));
    cr_assert_not_null(strstr(result.report, "mirage-opt-report/1"));
    cr_assert_not_null(strstr(result.report, "sm_80"));
    cr_assert_eq(strncmp(result.message, "ok: ", 4), 0, "%s", result.message);
    mirage_opt_result_free(&result);
    cr_assert_null(result.cuda);
}

Test(api, errors_are_messages)
{
    static const char *const report[] = {"--report", "x"}, *const typo[] = {"--no-gpuu"};
    mirage_opt_result result;
    cr_assert_eq(mirage_opt_run("{", 1, "bad.json", NULL, 0, &result), MIRAGE_OPT_BAD_INPUT);
    cr_assert_eq(strncmp(result.message, "bad.json:1:", 11), 0, "%s", result.message);
    cr_assert_null(result.cuda);
    cr_assert_null(result.report);
    mirage_opt_result_free(&result);
    cr_assert_eq(mirage_opt_run(text, sizeof text - 1, "p", report, 2, &result), MIRAGE_OPT_BAD_INPUT);
    mirage_opt_result_free(&result);
    cr_assert_eq(mirage_opt_run(text, sizeof text - 1, "p", typo, 1, &result), MIRAGE_OPT_BAD_INPUT);
    cr_assert_not_null(strstr(result.message, "--no-gpu'"));
    mirage_opt_result_free(&result);
}
