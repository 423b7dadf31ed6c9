/* clean.h - removes control characters from everything printed for users: names in recordings,
 * files and answers of servers must not send commands to the terminal. All output goes through one
 * place, so that no message is forgotten. */
#ifndef CMD_CLEAN_H
#define CMD_CLEAN_H

/* After this call, in everything written to stderr control characters (those of text_clean(),
 * except newline and tab) become '_', and bytes that are not UTF-8 become U+FFFD. When out of
 * memory stderr stays as it is. */
void clean_stderr(void);
/* The same for stdout, when its reader is a user. */
void clean_stdout(void);
/* Writes our own control sequences to the terminal, unchanged. */
void clean_bypass(const char *sequence);

#endif
