/* package.h - where the symbols of a distribution's files are. Private to report/. */
#ifndef REPORT_PACKAGE_H
#define REPORT_PACKAGE_H

#include <stdbool.h>
#include <stddef.h>

/* What to do for the symbols of a file that came with a package; the same pointer each time. Valid
 * for ever; the first call reads /etc/os-release. */
const char *report_package_help(void);

/* The name of the package with the symbols of a package, by its list of files in the database of
 * dpkg ("libglib2.0-0:amd64.list"). */
void package_of_symbols(const char *list, char *ret, size_t size);

/* The name of the package that has the symbols of the file at `path`, by the database of dpkg.
 * False: not known. Reads some ten MB. */
bool package_with_symbols(const char *path, char *ret, size_t size);

#endif
