/* compiler_of.c - which compiler made a module, as far as its names depend on it. */
#include "symbolize/compiler_of.h"

#include <ctype.h>
#include <string.h>

#include "modules/modules.h"

/* What the code of such a compiler always defines or needs: parts of its runtime. */
static const struct {
	enum name_compiler compiler;
	const char *symbols[4];
} signs[] = {
	/* programs; libraries to be loaded by programs (.cmxs) */
	{COMPILER_OCAML, {"caml_call_gc", "caml_plugin_header", "Caml_state"}},
	{COMPILER_GHC, {"stg_upd_frame_info", "stg_gc_noregs", "stg_ap_0_fast", "hs_main"}},
};
enum { N_SIGNS = sizeof signs / sizeof *signs };

static bool is_sign_of(size_t row, const char *name)
{
	size_t i;

	for (i = 0; i < sizeof signs[row].symbols / sizeof *signs[row].symbols; i++)
		if (signs[row].symbols[i] && !strcmp(name, signs[row].symbols[i]))
			return true;
	return false;
}

static enum name_compiler find_sign(struct elf_image *img, const char *section)
{
	struct elf_symbols t;
	size_t i, row;

	if (!elf_symbols_open(&t, img, section))
		return COMPILER_OTHER;
	for (i = 0; i < t.n; i++) {
		Elf64_Sym sym = elf_symbols_at(&t, i);
		const char *name = elf_symbols_name(&t, &sym);

		for (row = 0; name && row < N_SIGNS; row++)
			if (is_sign_of(row, name))
				return signs[row].compiler;
	}
	return COMPILER_OTHER;
}

/* [package_]Module_name_info */
static bool may_be_ghc(const char *symbol)
{
	static const char *const suffixes[] = {"_info", "_slow", "_fast", "_ret", "_entry"};
	const char *module = isupper((unsigned char)*symbol) ? symbol : strchr(symbol, '_'), *last;
	size_t i;

	if (!module || !isupper((unsigned char)module[*module == '_']))
		return false;
	last = strrchr(module, '_');
	for (i = 0; last && i < sizeof suffixes / sizeof *suffixes; i++)
		if (!strcmp(last, suffixes[i]))
			return true;
	return false;
}

bool compiler_matters(const char *symbol)
{
	return (!strncmp(symbol, "caml", 4) && isupper((unsigned char)symbol[4])) ||
	       may_be_ghc(symbol);
}

enum name_compiler compiler_of(const struct module *mod)
{
	struct elf_image *const images[] = {mod->image, mod->debug};
	enum name_compiler c = COMPILER_OTHER;
	size_t i;

	for (i = 0; !c && i < 2; i++)
		if (images[i]) {
			c = find_sign(images[i], ".symtab");
			c = c ? c : find_sign(images[i], ".dynsym");
		}
	return c;
}
