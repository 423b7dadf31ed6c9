/* javascript.h - private: how many frames of V8 have names. */
#ifndef REPORT_JAVASCRIPT_H
#define REPORT_JAVASCRIPT_H

#include <stdio.h>

#include "load/load.h"

/* Nothing where there is no JavaScript. */
void text_javascript(const struct loaded *p, FILE *out);
/* "javascript":{..}, */
void json_javascript(const struct loaded *p, FILE *out);
/* The share of samples in V8's interpreter, where no name of a function is known and nothing was
 * compiled. */
double javascript_interpreted_percent(const struct loaded *p);

#endif
