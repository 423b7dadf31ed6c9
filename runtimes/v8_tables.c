/* v8_tables.c - the numbers that V8 exports for postmortem debuggers, as variables v8dbg_*.
 *
 * Source of truth: tools/gen-postmortem-metadata.py of each release. Fields that some releases do
 * not have in it are derived from their neighbours; all are proved when objects are read: types,
 * addresses that lead back, lengths. */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "runtimes/remote_symbols.h"
#include "runtimes/v8.h"

/* Releases name some of them in more than one way: the first that is there counts. */
static const struct {
	enum v8_number number;
	const char *name;
} numbers[] = {
	{V8_TAGGED_BYTES, "TaggedSize"},
	{V8_FP_CONTEXT, "off_fp_context"},
	{V8_FP_FUNCTION, "off_fp_function"},
	{V8_FP_BYTECODE, "off_fp_bytecode_array"},
	{V8_FP_BYTECODE_OFFSET, "off_fp_bytecode_offset"},
	{V8_TYPE_FUNCTION, "type_JSFunction__JS_FUNCTION_TYPE"},
	{V8_TYPE_SHARED, "type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE"},
	{V8_TYPE_SCOPE, "type_ScopeInfo__SCOPE_INFO_TYPE"},
	{V8_TYPE_SCRIPT, "type_Script__SCRIPT_TYPE"},
	{V8_TYPE_BYTECODE, "type_BytecodeArray__BYTECODE_ARRAY_TYPE"},
	{V8_TYPE_BYTES, "type_ByteArray__BYTE_ARRAY_TYPE"},
	{V8_TYPE_TRUSTED_BYTES, "type_TrustedByteArray__TRUSTED_BYTE_ARRAY_TYPE"},
	{V8_TYPE_CODE, "type_Code__CODE_TYPE"},
	{V8_TYPE_STREAM, "type_InstructionStream__INSTRUCTION_STREAM_TYPE"},
	{V8_TYPE_INTERPRETER_DATA, "type_InterpreterData__INTERPRETER_DATA_TYPE"},
	{V8_TYPE_ARRAY, "type_FixedArray__FIXED_ARRAY_TYPE"},
	{V8_TYPE_TRUSTED_ARRAY, "type_TrustedFixedArray__TRUSTED_FIXED_ARRAY_TYPE"},
	{V8_TYPE_PROTECTED_ARRAY, "type_ProtectedFixedArray__PROTECTED_FIXED_ARRAY_TYPE"},
	{V8_TYPE_SHARED_WRAPPER,
	 "type_SharedFunctionInfoWrapper__SHARED_FUNCTION_INFO_WRAPPER_TYPE"},
	{V8_TYPE_ODDBALL, "type_Oddball__ODDBALL_TYPE"},
	{V8_FUNCTION_SHARED, "class_JSFunction__shared__SharedFunctionInfo"},
	{V8_SHARED_NAME, "class_SharedFunctionInfo__name_or_scope_info__Object"},
	{V8_SHARED_NAME, "class_SharedFunctionInfo__name_or_scope_info__Tagged_Object_"},
	{V8_SHARED_NAME, "class_SharedFunctionInfo__name_or_scope_info__Tagged_NameOrScopeInfoT_"},
	{V8_SHARED_SCRIPT, "class_SharedFunctionInfo__script_or_debug_info__HeapObject"},
	{V8_SHARED_SCRIPT, "class_SharedFunctionInfo__script__Tagged_HeapObject_"},
	{V8_SCRIPT_SOURCE, "class_Script__source__Object"},
	{V8_SCRIPT_NAME, "class_Script__name__Object"},
	{V8_CODE_INSTRUCTIONS, "class_Code__instruction_start__Address"},
	{V8_CODE_SIZE, "class_Code__instruction_size__int"},
	{V8_CODE_FLAGS, "class_Code__flags__uint32_t"},
	{V8_CODE_BASELINE, "CodeKindBaseline"},
	{V8_STREAM_INSTRUCTIONS, "class_InstructionStream__instruction_start__uintptr_t"},
	{V8_STREAM_INSTRUCTIONS, "class_Code__instruction_start__uintptr_t"},
	{V8_DEOPT_SHARED, "DeoptimizationDataSharedFunctionInfoIndex"},
	{V8_DEOPT_SHARED_WRAPPER, "DeoptimizationDataWrappedSharedFunctionInfoIndex"},
	{V8_BYTECODE_DATA, "class_BytecodeArray__data__uintptr_t"},
	{V8_SCOPE_FIRST, "scopeinfo_idx_first_vars"},
};

/* Without these nothing can be read. The last ones are values that frames must have, as the
 * recorder looks for such. */
static const struct {
	enum v8_number number;
	int32_t value; /* V8_NONE: any */
} needed[] = {
	{V8_TAGGED_BYTES, 8},
	{V8_TYPE_FUNCTION, V8_NONE},
	{V8_TYPE_SHARED, V8_NONE},
	{V8_TYPE_SCOPE, V8_NONE},
	{V8_TYPE_SCRIPT, V8_NONE},
	{V8_TYPE_BYTECODE, V8_NONE},
	{V8_TYPE_CODE, V8_NONE},
	{V8_FUNCTION_SHARED, V8_NONE},
	{V8_SHARED_NAME, V8_NONE},
	{V8_SHARED_SCRIPT, V8_NONE},
	{V8_SCRIPT_SOURCE, V8_NONE},
	{V8_SCRIPT_NAME, V8_NONE},
	{V8_STREAM_INSTRUCTIONS, V8_NONE},
	{V8_CODE_BASELINE, V8_NONE},
	{V8_BYTECODE_DATA, V8_NONE},
	{V8_SCOPE_FIRST, V8_NONE},
	{V8_FP_CONTEXT, -8},
	{V8_FP_FUNCTION, -16},
	{V8_FP_BYTECODE, -32},
	{V8_FP_BYTECODE_OFFSET, -40},
};

/* Releases 11.x of V8 lost the fields of Code (script: "Code" had been renamed). There they are:
 * the header, three objects, the object with the instructions, their address, the flags, the
 * builtin's number and flags, the size (code.h). Release 10 and older have no address: the
 * instructions follow. */
enum { CODE_INSTRUCTIONS = 40, CODE_FLAGS = 48, CODE_SIZE = 56, DEOPT_SHARED = 6 };

static void derive(struct v8 *v)
{
	if (v8_has(v, V8_TYPE_STREAM) && !v8_has(v, V8_CODE_INSTRUCTIONS))
		v->k[V8_CODE_INSTRUCTIONS] = CODE_INSTRUCTIONS;
	if (!v8_has(v, V8_CODE_FLAGS))
		v->k[V8_CODE_FLAGS] = CODE_FLAGS;
	if (!v8_has(v, V8_CODE_SIZE))
		v->k[V8_CODE_SIZE] = CODE_SIZE;
	if (!v8_has(v, V8_DEOPT_SHARED) && !v8_has(v, V8_DEOPT_SHARED_WRAPPER))
		v->k[V8_DEOPT_SHARED] = DEOPT_SHARED;
}

/* What a process says may be anything: so large are no types and no heads of objects. */
enum { NUMBER_MAX = 0xffff, HEAD_MAX = 256 };

bool v8_numbers_fit(const struct v8 *v)
{
	static const enum v8_number in_head[] = {
		V8_CODE_INSTRUCTIONS, V8_CODE_SIZE,	V8_CODE_FLAGS,	V8_STREAM_INSTRUCTIONS,
		V8_DEOPT_SHARED,      V8_BYTECODE_DATA, V8_SCOPE_FIRST, V8_DEOPT_SHARED_WRAPPER,
	};

	for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
		if (!v8_has(v, needed[i].number) ||
		    (needed[i].value != V8_NONE && v->k[needed[i].number] != needed[i].value))
			return false;
	for (int i = V8_TYPE_FUNCTION; i < V8_N; i++)
		if (v->k[i] != V8_NONE && (v->k[i] < 0 || v->k[i] > NUMBER_MAX))
			return false;
	for (size_t i = 0; i < sizeof in_head / sizeof *in_head; i++)
		if (v->k[in_head[i]] > HEAD_MAX)
			return false;
	return true;
}

int v8_read_tables(struct v8 *v, uint64_t file, struct err *err)
{
	struct remote_symbols s;
	char name[128];
	uint32_t value;

	for (size_t i = 0; i < V8_N; i++)
		v->k[i] = V8_NONE;
	if (!remote_symbols_open(&s, &v->mem, file))
		return err_set(err, ERR_NOT_FOUND, "V8", "is not loaded yet");
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		snprintf(name, sizeof name, "v8dbg_%s", numbers[i].name);
		if (!v8_has(v, numbers[i].number) && remote_symbol_u32(&s, name, &value))
			v->k[numbers[i].number] = (int32_t)value;
	}
	if (!v8_has(v, V8_TAGGED_BYTES))
		return err_set(err, ERR_UNSUPPORTED, "V8",
			       "exports no numbers of its structures (v8dbg_TaggedSize)");
	derive(v);
	if (!v8_numbers_fit(v))
		return err_set(err, ERR_UNSUPPORTED, "V8",
			       "has other structures than those known here");
	return 0;
}
