/* jvm_agent.c - writes a jitdump of all code that a JVM makes into the present folder, as perf's
 * agent libperf-jvmti.so does: names and machine code, of compiled methods, stubs and the
 * interpreter. tools/perf/Documentation/jitdump-specification.txt; JVM Tool Interface, "Compiled
 * Method Load".
 *
 * java -agentpath:./jvm_agent.so ...
 * java -agentpath:./jvm_agent.so=map ...: writes /tmp/perf-PID.map instead, names only, for JVMs
 * before JDK 17. */
#include <elf.h>
#include <fcntl.h>
#include <jvmti.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static FILE *dump;
static bool is_map;
static uint64_t n_codes;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void write_line(const char *name, const void *code, jint n)
{
	pthread_mutex_lock(&lock);
	fprintf(dump, "%lx %x %s\n", (unsigned long)code, (unsigned)n, name);
	fflush(dump);
	pthread_mutex_unlock(&lock);
}

static void write_code(const char *name, const void *code, jint n)
{
	struct {
		uint32_t id, total;
		uint64_t time_ns;
		uint32_t pid, tid;
		uint64_t vma, addr, bytes, index;
	} load = {.pid = (uint32_t)getpid(),
		  .tid = (uint32_t)syscall(SYS_gettid),
		  .vma = (uintptr_t)code,
		  .addr = (uintptr_t)code,
		  .bytes = (uint64_t)n};
	size_t name_bytes = strlen(name) + 1;

	if (n > 0 && is_map)
		write_line(name, code, n);
	if (n <= 0 || is_map)
		return;
	pthread_mutex_lock(&lock);
	load.total = (uint32_t)(sizeof load + name_bytes + (size_t)n);
	load.time_ns = now_ns();
	load.index = n_codes++;
	fwrite(&load, sizeof load, 1, dump);
	fwrite(name, name_bytes, 1, dump);
	fwrite(code, (size_t)n, 1, dump);
	fflush(dump);
	pthread_mutex_unlock(&lock);
}

static void JNICALL compiled(jvmtiEnv *env, jmethodID method, jint n, const void *code,
			     jint n_addrs, const jvmtiAddrLocationMap *addrs, const void *info)
{
	char *class_name = NULL, *name = NULL, text[1024];
	jclass class;

	(void)n_addrs, (void)addrs, (void)info;
	if ((*env)->GetMethodDeclaringClass(env, method, &class) ||
	    (*env)->GetClassSignature(env, class, &class_name, NULL) ||
	    (*env)->GetMethodName(env, method, &name, NULL, NULL))
		return;
	snprintf(text, sizeof text, "%s%s", class_name, name);
	write_code(text, code, n);
	(*env)->Deallocate(env, (unsigned char *)class_name);
	(*env)->Deallocate(env, (unsigned char *)name);
}

static void JNICALL generated(jvmtiEnv *env, const char *name, const void *code, jint n)
{
	(void)env;
	write_code(name, code, n);
}

static int map_open(void)
{
	char path[64];

	is_map = true;
	snprintf(path, sizeof path, "/tmp/perf-%d.map", getpid());
	dump = fopen(path, "w");
	return dump ? 0 : -1;
}

/* perf sees a mapping of the file with PROT_EXEC: that is how it is found. */
static int dump_open(void)
{
	struct {
		uint32_t magic, version, total, machine, pad, pid;
		uint64_t time_ns, flags;
	} header = {.magic = 0x4a695444,
		    .version = 1,
		    .total = sizeof header,
		    .machine = EM_X86_64,
		    .pid = (uint32_t)getpid(),
		    .time_ns = now_ns()};
	char path[64];
	int fd;

	snprintf(path, sizeof path, "jit-%d.dump", getpid());
	fd = open(path, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
	dump = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (!dump || fwrite(&header, sizeof header, 1, dump) != 1 || fflush(dump))
		return -1;
	return mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
		    0) == MAP_FAILED
		       ? -1
		       : 0;
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	const jvmtiCapabilities caps = {.can_generate_compiled_method_load_events = 1};
	const jvmtiEventCallbacks calls = {.CompiledMethodLoad = compiled,
					   .DynamicCodeGenerated = generated};
	jvmtiEnv *env;

	(void)reserved;
	if ((*vm)->GetEnv(vm, (void **)&env, JVMTI_VERSION_1) ||
	    (options && !strcmp(options, "map") ? map_open() : dump_open()) ||
	    (*env)->AddCapabilities(env, &caps) ||
	    (*env)->SetEventCallbacks(env, &calls, sizeof calls) ||
	    (*env)->SetEventNotificationMode(env, JVMTI_ENABLE, JVMTI_EVENT_COMPILED_METHOD_LOAD,
					     NULL) ||
	    (*env)->SetEventNotificationMode(env, JVMTI_ENABLE, JVMTI_EVENT_DYNAMIC_CODE_GENERATED,
					     NULL))
		return JNI_ERR;
	return JNI_OK;
}
