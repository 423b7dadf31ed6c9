/* check_code.h - is the code of files that were recorded without build id what was recorded? */
#ifndef CMD_CHECK_CODE_H
#define CMD_CHECK_CODE_H

#include "cmd/pipeline.h"

/* Takes away files whose code is another one (module_reject()), before names are looked up. 0 or
 * negative with *err. */
int check_code(struct pipeline *p, struct err *err);

#endif
