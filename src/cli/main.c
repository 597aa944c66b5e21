#include "cli/cli.h"
#include "cli/signals.h"

int main(int argc, char **argv)
{
    mo_signals_install();
    return mo_cli_main(argc, argv);
}
