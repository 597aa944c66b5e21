/* The command line: from argv to an exit code. */
#ifndef MO_CLI_CLI_H
#define MO_CLI_CLI_H

int mo_cli_main(int argc, char **argv);

#endif
