/* version.h - the answer to --version. */
#ifndef CMD_VERSION_H
#define CMD_VERSION_H

/* Prints the command's name and version, and the libraries' versions at build time and at run time.
 */
void version_print(const char *command);
/* Another line, for commands that read binaries: the libraries for that. */
void version_print_readers(void);

#endif
