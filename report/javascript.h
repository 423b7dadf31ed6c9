/* javascript.h - private: how many frames of V8 have names. */
#ifndef REPORT_JAVASCRIPT_H
#define REPORT_JAVASCRIPT_H

#include <stdio.h>

#include "load/load.h"

/* Nothing where there is no JavaScript. */
void text_javascript(const struct loaded *p, FILE *out);
/* "javascript":{..}, */
void json_javascript(const struct loaded *p, FILE *out);

#endif
