/* bpf.c - loads a BPF program, runs it for as many milliseconds of CPU time as the argument says,
 * and prints the name that the kernel's KSYMBOL record has for it: bpf_prog_TAG_NAME
 * (kernel/bpf/core.c, bpf_get_prog_name()). Raw system calls: bpf(2). */
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { ADDS = 3000 };

static int load(void)
{
	static struct bpf_insn insns[ADDS + 2];
	union bpf_attr attr;
	int i;

	insns[0] = (struct bpf_insn){.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0};
	for (i = 1; i <= ADDS; i++)
		insns[i] = (struct bpf_insn){
			.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = BPF_REG_0, .imm = i};
	insns[ADDS + 1] = (struct bpf_insn){.code = BPF_JMP | BPF_EXIT};
	memset(&attr, 0, sizeof attr);
	attr.prog_type = BPF_PROG_TYPE_SOCKET_FILTER;
	attr.insns = (uintptr_t)insns;
	attr.insn_cnt = ADDS + 2;
	attr.license = (uintptr_t) "GPL";
	strcpy(attr.prog_name, "spin_in_bpf");
	return (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof attr);
}

static void print_name(int prog)
{
	struct bpf_prog_info info;
	union bpf_attr attr;
	unsigned i;

	memset(&info, 0, sizeof info);
	memset(&attr, 0, sizeof attr);
	attr.info.bpf_fd = (unsigned)prog;
	attr.info.info_len = sizeof info;
	attr.info.info = (uintptr_t)&info;
	if (syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof attr) || !info.jited_prog_len)
		exit(2);
	printf("bpf_prog_");
	for (i = 0; i < sizeof info.tag; i++)
		printf("%02x", info.tag[i]);
	printf("_%s\n", info.name);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	long limit = argc > 1 ? atol(argv[1]) : 300, spent;
	int prog = load(), fds[2], i;
	struct timespec now;
	char byte;

	if (prog < 0 || socketpair(AF_UNIX, SOCK_DGRAM, 0, fds) ||
	    setsockopt(fds[1], SOL_SOCKET, SO_ATTACH_BPF, &prog, sizeof prog))
		return 2;
	print_name(prog);
	do {
		/* The sum is odd or large: the packet stays, and is taken out again. */
		for (i = 0; i < 1000; i++)
			if (send(fds[0], "x", 1, 0) != 1 || recv(fds[1], &byte, 1, 0) < 0)
				return 2;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
		spent = now.tv_sec * 1000 + now.tv_nsec / 1000000;
	} while (spent < limit);
	return 0;
}
