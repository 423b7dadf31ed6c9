/* page.h - a text that is longer than the screen. Private to browse/. */
#ifndef BROWSE_PAGE_H
#define BROWSE_PAGE_H

#include <stddef.h>

/* Shows n bytes of lines until the user goes back; begins at the line with the largest share, if
 * lines begin with such, as those of report_annotate(). */
void page_show(const char *title, const char *text, size_t n);

#endif
