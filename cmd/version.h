/* version.h - what --version prints. */
#ifndef CMD_VERSION_H
#define CMD_VERSION_H

/* Our version, and those of the libraries and the compiler. */
void version_print(const char *command);

#endif
