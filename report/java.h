/* java.h - private: how many frames of HotSpot's interpreter have no name. */
#ifndef REPORT_JAVA_H
#define REPORT_JAVA_H

#include <stdio.h>

#include "load/load.h"

/* Nothing where all have one. */
void text_java(const struct loaded *p, FILE *out);
/* "java":{..}, */
void json_java(const struct loaded *p, FILE *out);

#endif
