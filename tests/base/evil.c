/* evil.c - a library for LD_PRELOAD that stands for a parser which a hostile file has taken over: in
 * the middle of reading, elf_memory() and inflate() do what a stranger's code would like to do. For
 * tests/base/test_sandbox.py. Each attempt prints a line: what, and whether it succeeded. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

static void tried(const char *what, int worked)
{
	dprintf(STDERR_FILENO, "EVIL %s: %s\n", what, worked ? "done" : strerror(errno));
}

static const char *victim(void)
{
	return getenv("EVIL_VICTIM"); /* a file of this user's, outside of what may be written */
}

static pid_t other(void)
{
	return (pid_t)atoi(getenv("EVIL_PID"));
}

static int child_execs(void)
{
	char *argv[] = {"/bin/true", NULL}, *none[] = {NULL};
	int status = -1;
	pid_t pid = fork();

	if (!pid) {
		execve(argv[0], argv, none);
		_exit(99);
	}
	return waitpid(pid, &status, 0) == pid && status == 0;
}

static int execs_memory(void)
{
	char *none[] = {NULL};
	int fd = memfd_create("x", 0), from = open("/bin/true", O_RDONLY), status = -1;
	char copy[1 << 16];
	ssize_t n;
	pid_t pid;

	while ((n = read(from, copy, sizeof copy)) > 0)
		if (write(fd, copy, (size_t)n) != n)
			return 0;
	pid = fork();
	if (!pid) {
		syscall(SYS_execveat, fd, "", none, none, AT_EMPTY_PATH);
		_exit(99);
	}
	return waitpid(pid, &status, 0) == pid && status == 0;
}

static int connects(int family)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(getenv("EVIL_PORT")))};
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	int fd = socket(family, SOCK_STREAM, 0);

	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	snprintf(un.sun_path, sizeof un.sun_path, "%s", getenv("EVIL_SOCKET"));
	return fd >= 0 && !(family == AF_INET ? connect(fd, (void *)&in, sizeof in) : connect(fd, (void *)&un, sizeof un));
}

static int traces(void)
{
	return !ptrace(PTRACE_SEIZE, other(), NULL, NULL) && !ptrace(PTRACE_DETACH, other(), NULL, NULL);
}

static int reads_memory(void)
{
	char byte;
	struct iovec mine = {&byte, 1}, its = {(void *)(uintptr_t)strtoull(getenv("EVIL_ADDRESS"), NULL, 16), 1};

	return process_vm_readv(other(), &mine, 1, &its, 1, 0) == 1;
}

static int makes(const char *name)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof path, "%s.%s", victim(), name);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	return fd >= 0;
}

static void misbehave(void)
{
	static int once;
	char path[4096];
	int fd;

	if (once++)
		return;
	snprintf(path, sizeof path, "%s.linked", victim());
	tried("write to a file", (fd = open(victim(), O_WRONLY)) >= 0 && write(fd, "evil", 4) == 4);
	tried("truncate a file", !truncate(victim(), 0));
	tried("open a file to truncate it", open(victim(), O_RDONLY | O_TRUNC) >= 0);
	tried("make a file", makes("made"));
	tried("remove a file", !unlink(victim()));
	tried("rename a file", !rename(victim(), path));
	tried("link a file", !link(victim(), path));
	tried("make a symbolic link", !symlink(victim(), path));
	tried("make a folder", !mkdir(path, 0700));
	tried("change a mode", !chmod(victim(), 0777));
	fd = open(victim(), O_RDONLY);
	tried("change a mode by descriptor", !fchmod(fd, 0777));
	tried("change an owner by descriptor", !fchown(fd, getuid(), getgid() + 1));
	tried("set an attribute", !setxattr(victim(), "user.evil", "1", 1, 0));
	tried("execute", child_execs());
	tried("execute what is in memory", execs_memory());
	tried("connect by TCP", connects(AF_INET));
	tried("connect to a local socket", connects(AF_UNIX));
	tried("signal another process", !kill(other(), 0) && !kill(other(), SIGUSR1));
	tried("signal the group", !kill(0, SIGUSR1));
	tried("signal by descriptor", syscall(SYS_pidfd_open, other(), 0) >= 0);
	tried("trace another process", traces());
	tried("read another's memory", reads_memory());
	tried("mount", !mount("none", "/mnt", "tmpfs", 0, NULL) && !umount2("/mnt", MNT_DETACH));
	tried("make a user namespace", !syscall(SYS_unshare, 0x10000000));
	tried("write into another's folder of /proc", (snprintf(path, sizeof path, "/proc/%d/mem", (int)other()), open(path, O_RDWR)) >= 0);
	tried("type on the terminal", (fd = open("/dev/tty", O_RDWR)) >= 0);
}

void *elf_memory(char *image, size_t size);
void *elf_memory(char *image, size_t size)
{
	void *(*real)(char *, size_t) = (void *(*)(char *, size_t))dlsym(RTLD_NEXT, "elf_memory");

	misbehave();
	return real(image, size);
}

int inflate(void *stream, int flush);
int inflate(void *stream, int flush)
{
	int (*real)(void *, int) = (int (*)(void *, int))dlsym(RTLD_NEXT, "inflate");

	misbehave();
	return real(stream, flush);
}
