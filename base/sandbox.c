/* sandbox.c - landlock for writing, capabilities, no_new_privs; the filter is sandbox_calls.c. */
#include "base/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/capabilities.h"
#include "base/helper.h"
#include "base/outfile.h"
#include "base/sandbox_calls.h"

/* Numbers of <linux/landlock.h>, which may be missing or older than the kernel. The system calls
 * have the same numbers on all architectures. */
enum {
	LANDLOCK_CREATE_RULESET = 444,
	LANDLOCK_ADD_RULE = 445,
	LANDLOCK_RESTRICT_SELF = 446,
	LANDLOCK_VERSION = 1, /* flag of create_ruleset */
	LANDLOCK_PATH_BENEATH = 1,
};

enum access {
	FS_EXECUTE = 1 << 0,
	FS_WRITE_FILE = 1 << 1,
	FS_REMOVE_DIR = 1 << 4,
	FS_REMOVE_FILE = 1 << 5,
	FS_MAKE_DIR = 1 << 7,
	FS_MAKE_REG = 1 << 8,
	FS_MAKE_OTHERS = 0x0e40, /* devices, sockets, FIFOs */
	FS_MAKE_SYM = 1 << 12,
	FS_REFER = 1 << 13,	/* version 2: move between folders */
	FS_TRUNCATE = 1 << 14,	/* version 3 */
	FS_IOCTL_DEV = 1 << 15, /* version 5 */
};
#define FS_ALWAYS                                                                                  \
	(FS_EXECUTE | FS_WRITE_FILE | FS_REMOVE_DIR | FS_REMOVE_FILE | FS_MAKE_DIR | FS_MAKE_REG | \
	 FS_MAKE_OTHERS | FS_MAKE_SYM)

struct ruleset {
	uint64_t fs, net, scoped;
};

struct path_rule {
	uint64_t access;
	int32_t fd;
} __attribute__((packed));

/* What a version of landlock knows is forbidden; for TCP and signals there are no rules. */
static struct ruleset handled(int version, bool network)
{
	enum { NET_TCP = 3, SCOPE_ABSTRACT_SOCKETS = 1, SCOPE_SIGNALS = 2 };
	struct ruleset r = {.fs = FS_ALWAYS};

	r.fs |= version >= 2 ? FS_REFER : 0;
	r.fs |= version >= 3 ? FS_TRUNCATE : 0;
	r.fs |= version >= 5 ? FS_IOCTL_DEV : 0;
	r.net = version >= 4 && !network ? NET_TCP : 0;
	r.scoped = version >= 6 ? SCOPE_SIGNALS | (network ? 0 : SCOPE_ABSTRACT_SOCKETS) : 0;
	return r;
}

static int add_path(int rules, int fd, bool links, uint64_t fs)
{
	struct path_rule rule = {.fd = fd};
	struct stat st;

	if (fstat(fd, &st))
		return 0;
	rule.access = FS_WRITE_FILE | FS_TRUNCATE;
	if (S_ISDIR(st.st_mode))
		rule.access |=
			FS_REMOVE_DIR | FS_REMOVE_FILE | FS_MAKE_DIR | FS_MAKE_REG | FS_REFER;
	if (links)
		rule.access |= FS_MAKE_SYM;
	rule.access &= fs;
	/* A pipe or memory is in no folder, and is not restricted. */
	return syscall(LANDLOCK_ADD_RULE, rules, LANDLOCK_PATH_BENEATH, &rule, 0) && errno != EBADFD
		       ? -1
		       : 0;
}

/* Returns 1 if the kernel has it, 0 if not, -1 with errno. */
static int restrict_files(const struct sandbox *s)
{
	long version = syscall(LANDLOCK_CREATE_RULESET, NULL, 0, LANDLOCK_VERSION);
	struct ruleset r = handled((int)version, s->network);
	size_t i, size = version >= 6 ? sizeof r : version >= 4 ? 16 : 8;
	int rules, rc = 0;

	if (version < 1)
		return 0;
	rules = (int)syscall(LANDLOCK_CREATE_RULESET, &r, size, 0);
	if (rules < 0)
		return -1;
	for (i = 0; !rc && i < s->n_paths; i++)
		rc = add_path(rules, s->paths[i], s->links[i], r.fs);
	if (!rc)
		rc = (int)syscall(LANDLOCK_RESTRICT_SELF, rules, 0);
	close(rules);
	return rc ? -1 : 1;
}

/* ---- capabilities ---------------------------------------------------------------------------- */

static uint64_t capabilities_of(const struct sandbox *s)
{
	uint64_t keep = 1ull << CAP_DAC_READ_SEARCH | 1ull << CAP_SYSLOG;

	if (s->may_override)
		keep |= 1ull << CAP_DAC_OVERRIDE | 1ull << CAP_FOWNER;
	return s->may_chown ? keep | 1ull << CAP_CHOWN : keep;
}

/* ---- what may be written --------------------------------------------------------------------- */

static void allow(struct sandbox *s, int fd)
{
	if (fd >= 0 && s->n_paths < SANDBOX_PATHS_MAX)
		s->paths[s->n_paths++] = fd;
	else if (fd >= 0)
		close(fd);
}

void sandbox_allow_folder(struct sandbox *s, const char *path)
{
	allow(s, open(path, O_PATH | O_DIRECTORY | O_CLOEXEC));
}

void sandbox_allow_links(struct sandbox *s, const char *path)
{
	const size_t n = s->n_paths;

	sandbox_allow_folder(s, path);
	if (s->n_paths > n)
		s->may_link = s->links[n] = true;
}

void sandbox_allow_output(struct sandbox *s, const char *path)
{
	struct outplace p;
	struct stat dir;

	if (!outplace_find(&p, path, NULL) && !fstat(p.dir, &dir)) {
		bool is_file = !p.exists || S_ISREG(p.st.st_mode);

		s->may_override |=
			dir.st_uid != geteuid() || (p.exists && p.st.st_uid != geteuid());
		s->may_chown |= p.exists && (p.st.st_uid != geteuid() || p.st.st_gid != getegid());
		/* A link here is one of /proc: /dev/stdout leads to it. */
		allow(s, openat(p.dir, is_file ? "." : p.name, O_PATH | O_CLOEXEC));
	}
	outplace_done(&p);
}

/* ---- entering -------------------------------------------------------------------------------- */

static void add_word(char *lacks, size_t size, const char *word)
{
	size_t n = strlen(lacks);

	snprintf(lacks + n, size - n, "%s%s", n ? ", " : "", word);
}

static int enter(struct sandbox *s, char *lacks, size_t size, struct err *err)
{
	int rc;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return err_errno(err, errno, NULL, "give up new privileges");
	rc = restrict_files(s);
	if (rc < 0)
		return err_errno(err, errno, NULL, "restrict writing (landlock)");
	if (!rc)
		add_word(lacks, size, "landlock, to restrict where files are written");
	if (capabilities_keep(capabilities_of(s)))
		return err_errno(err, errno, NULL, "give up capabilities");
	rc = sandbox_filter_calls(s->network, s->may_chown, s->may_link, s->terminal);
	if (rc < 0)
		return err_errno(err, errno, NULL, "restrict system calls (seccomp)");
	if (!rc)
		add_word(lacks, size, "seccomp, to restrict system calls");
	return 0;
}

int sandbox_enter(struct sandbox *s, char *lacks, size_t size, struct err *err)
{
	int rc;

	lacks[0] = '\0';
	allow(s, open("/dev/null", O_PATH | O_CLOEXEC));
	/* Before anything is given up. Without the helper files of containers are not found. */
	if (!s->no_helper)
		helper_start();
	rc = enter(s, lacks, size, err);
	while (s->n_paths)
		close(s->paths[--s->n_paths]);
	return rc;
}
