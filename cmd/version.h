/* version.h - the answer to --version. */
#ifndef CMD_VERSION_H
#define CMD_VERSION_H

/* The command, the version, and what was built with and runs now. */
void version_print(const char *command);
/* A line more for commands that read binaries: the libraries that do. */
void version_print_readers(void);

#endif
