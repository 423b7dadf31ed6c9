/* clean.h - terminals obey what is printed: what recordings, files and servers name must not reach
 * them as control characters. One place for all that is printed for people, so that no message is
 * forgotten. */
#ifndef CMD_CLEAN_H
#define CMD_CLEAN_H

/* From now on what is written to stderr arrives with each control character (of text_clean(), but
 * newline and tab) as
 * '_' and each byte that is no UTF-8 as U+FFFD. Without memory stderr stays as it is. */
void clean_stderr(void);
/* The same for what is printed on stdout, when that is for people. */
void clean_stdout(void);
/* To the terminal as it is: our own control sequences. */
void clean_bypass(const char *sequence);

#endif
