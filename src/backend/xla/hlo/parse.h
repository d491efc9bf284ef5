// Inside the parser: its state, and what its files call of each other. Users call cel_hlo_parse (hlo.h).
//
// Every function leaves the lexer behind what it read and returns the first failure, which ends the whole
// parse; nothing is undone one by one. Refusals of what this IR does not have (dynamic dimensions, quantized
// types, several blocks ...) are CEL_UNSUPPORTED, broken text is CEL_MALFORMED.
// What recurses over the text goes through cel_parse_enter, which counts depth; `deepest` is for aliases: a use
// of one is as deep and as long as what it stands for.
#ifndef CEL_XLA_HLO_PARSE_H
#define CEL_XLA_HLO_PARSE_H

#include "backend/xla/hlo/infer.h"
#include "backend/xla/hlo/lex.h"
#include "base/number.h"

// ---- growing arrays, used as stacks: remember n, push, use at[n..], put n back ---------------------

typedef struct cel_parse_values { cel_hlo_value **at; int n, cap; } cel_parse_values;
typedef struct cel_parse_types { const cel_hlo_type **at; int n, cap; } cel_parse_types;
typedef struct cel_parse_attrs { cel_hlo_attr **at; int n, cap; } cel_parse_attrs;
typedef struct cel_parse_ints { int64_t *at; int n, cap; } cel_parse_ints;

// ---- names: %values of the scopes that are open, or #aliases of the file ---------------------------

typedef struct cel_parse_name {
  cel_str text;
  uint32_t hash;
  cel_hlo_value *first;        // an argument, or the first of a group of count results; or
  int count;
  const cel_hlo_attr *attr;    // what an alias stands for: attribute,
  const cel_hlo_type *type;    // type,
  const char *path;            // or location: the name it has,
  cel_str path_alias;          // or else the alias it stands for
  int depth;                   // how deep the definition nests
  int64_t cost;                // bytes of text it stands for
} cel_parse_name;

typedef struct cel_parse_names {
  cel_parse_name *at;  // in order of definition
  int n, cap;
  int32_t *slots;  // index into at, or -1; open addressing
  uint32_t n_slots;
} cel_parse_names;

// A location that is an alias, which may be defined at the end of the file.
typedef struct cel_parse_late {
  cel_hlo_op *op;
  cel_str alias;
} cel_parse_late;

typedef struct cel_parse_lates { cel_parse_late *at; int n, cap; } cel_parse_lates;

// ---- the parser --------------------------------------------------------------------------------

typedef struct cel_parse {
  cel_lex lex;
  cel_err *err;
  cel_hlo_module *m;
  cel_hlo_func *func;    // being read
  cel_hlo_block *block;  // operations go to its end
  int depth, deepest;
  int64_t alias_bytes;  // text that the uses of aliases stand for, bounded
  cel_parse_names values, aliases;
  cel_parse_lates late;
  cel_parse_values operands;
  cel_parse_types types;
  cel_parse_attrs attrs;
  cel_parse_ints ints;
  cel_buf text;  // a scratch for strings and raw text; every user clears it first
  bool in_module, had_module, had_func;
} cel_parse;

CEL_MUST_CHECK cel_status cel_parse_enter(cel_parse *p);
static inline void cel_parse_leave(cel_parse *p) { p->depth--; }
cel_status cel_parse_oom(cel_parse *p);

CEL_MUST_CHECK cel_status cel_parse_push_value(cel_parse *p, cel_hlo_value *v);
CEL_MUST_CHECK cel_status cel_parse_push_type(cel_parse *p, const cel_hlo_type *t);
CEL_MUST_CHECK cel_status cel_parse_push_attr(cel_parse *p, cel_hlo_attr *a);  // NULL: out of memory
CEL_MUST_CHECK cel_status cel_parse_push_int(cel_parse *p, int64_t i);
// Room for one more item of `size` bytes in an array of *cap: the array, moved or not; NULL without memory.
void *cel_parse_grow(void *at, int n, int *cap, size_t size);

// ---- parse_names.c -----------------------------------------------------------------------------

cel_parse_name *cel_parse_find(cel_parse_names *names, cel_str text);
// The new entry, or NULL without memory. That the name is new is for the caller to ask.
cel_parse_name *cel_parse_add(cel_parse_names *names, cel_str text);
void cel_parse_drop(cel_parse_names *names, int n);  // all but the first n
void cel_parse_names_deinit(cel_parse_names *names);
// Counts the depth and the length that an alias stands for, and refuses what grows out of all proportion.
CEL_MUST_CHECK cel_status cel_parse_use_alias(cel_parse *p, const cel_parse_name *alias);

// ---- parse_number.c: spans are what the lexer calls INT or HEX --------------------------------

bool cel_parse_uint(cel_str digits, uint64_t *out);  // decimal or 0x; false when over 64 bits
// The value of an integer in type e (i1, or an integer type), sign- or zero-extended to 64 bits; false when it
// has no such value. As MLIR's types have no sign, iN also takes 2^(N-1) .. 2^N - 1 for its negative values.
bool cel_parse_fits(cel_etype e, bool negative, uint64_t magnitude, int64_t *out);

// ---- parse_type.c ------------------------------------------------------------------------------

CEL_MUST_CHECK cel_status cel_parse_type(cel_parse *p, const cel_hlo_type **out);
// Pushes the types of "t, t, t" / of "t" or "(t, t)" / of "()" .
CEL_MUST_CHECK cel_status cel_parse_type_list(cel_parse *p);
CEL_MUST_CHECK cel_status cel_parse_result_types(cel_parse *p);
// "word" or "word<...>" appended to p->text and skipped: a type or attribute that is kept as it is written.
CEL_MUST_CHECK cel_status cel_parse_verbatim(cel_parse *p);

// ---- parse_dense.c -----------------------------------------------------------------------------

// At '<' behind "dense": the literal and its ": type". With strict false a type this IR does not have makes a
// RAW attribute.
CEL_MUST_CHECK cel_status cel_parse_dense(cel_parse *p, const char *name, bool strict, cel_hlo_attr **out);

// ---- parse_attr.c ------------------------------------------------------------------------------

CEL_MUST_CHECK cel_status cel_parse_attr(cel_parse *p, const char *name, cel_hlo_attr **out);
// As above for a value whose number has no ": type" of its own (the colon belongs to the operation).
CEL_MUST_CHECK cel_status cel_parse_bare_attr(cel_parse *p, const char *name, cel_hlo_attr **out);
// At '{': pushes the entries of a dictionary. `code` is the operation they belong to: its
// dimension numbers and enumerations are read as the IR stores them; CEL_HLO_FOREIGN for none.
CEL_MUST_CHECK cel_status cel_parse_dict(cel_parse *p, cel_hlo_opcode code);
// Fails when two attributes pushed since `from` have one name. `where`: the owner, for the message.
CEL_MUST_CHECK cel_status cel_parse_unique(cel_parse *p, int from, const char *where);
// A number with its sign: INT or HEX.
CEL_MUST_CHECK cel_status cel_parse_int64(cel_parse *p, int64_t *out);
// "[1, 2]": pushes the numbers; true and false are 1 and 0.
CEL_MUST_CHECK cel_status cel_parse_int_list(cel_parse *p);
CEL_MUST_CHECK cel_status cel_parse_ints_attr(cel_parse *p, const char *name);  // the same, as an attribute
CEL_MUST_CHECK cel_status cel_parse_enum_attr(cel_parse *p, const char *name);  // EQ
CEL_MUST_CHECK cel_status cel_parse_enum_list_attr(cel_parse *p, const char *name);  // [DEFAULT, HIGHEST]
// What a token says, as a C string in the module's arena: a text in quotes without them, a symbol without its @, or a word. `what`
// names it where a zero byte is refused.
CEL_MUST_CHECK cel_status cel_parse_plain_text(cel_parse *p, cel_str token, const char *what, const char **out);
// The text of a name: a WORD, or a STRING undone; in the module's arena.
CEL_MUST_CHECK cel_status cel_parse_name_text(cel_parse *p, const char **out);
// The same for a SYMBOL, without @.
CEL_MUST_CHECK cel_status cel_parse_symbol(cel_parse *p, const char **out, const char *what);

// ---- parse_dialect.c ---------------------------------------------------------------------------

// Pushes the attribute `name` of operation `code` if its value has a form that depends on both; *done
// says whether it was such a one. The lexer is at the value.
CEL_MUST_CHECK cel_status cel_parse_op_attr(cel_parse *p, cel_hlo_opcode code, const char *name, bool *done);
// "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]": pushes the nine attributes of a convolution.
CEL_MUST_CHECK cel_status cel_parse_conv_dims(cel_parse *p);

// ---- parse_loc.c -------------------------------------------------------------------------------

// A trailing loc(...), if there is one. `op` gets the path; NULL when nobody wants it.
CEL_MUST_CHECK cel_status cel_parse_loc(cel_parse *p, cel_hlo_op *op);
// "#name = loc(...)", at "loc".
CEL_MUST_CHECK cel_status cel_parse_loc_alias(cel_parse *p, cel_str name);
CEL_MUST_CHECK cel_status cel_parse_late_locs(cel_parse *p);  // once all aliases are known

// ---- parse_op.c --------------------------------------------------------------------------------

// An operation while it is read. Its operands, attributes and types lie on the parser's stacks from these
// places on; the types of the operands come first, then those of the results.
typedef struct cel_parse_op {
  cel_hlo_opcode code;
  const char *name;  // of a FOREIGN operation, else NULL
  cel_hlo_op *op;    // made when the first region is met, or at the end
  int line, column;
  int n_names;       // results that have a name, what is left of '='
  int operands, attrs, types;
  bool typed;        // the text told the types, of n_in operands and n_out results
  int n_in, n_out;
} cel_parse_op;

static inline int cel_parse_n_operands(const cel_parse *p, const cel_parse_op *o) {
  return p->operands.n - o->operands;
}

// The rules of an operation (cel_hlo_check) failed: puts the place in front; in a text this is CEL_MALFORMED.
cel_status cel_parse_rule_broken(cel_parse *p, int line, int column);
// One operation with its results' names and its location, appended to p->block.
CEL_MUST_CHECK cel_status cel_parse_one_op(cel_parse *p);
CEL_MUST_CHECK cel_status cel_parse_operand(cel_parse *p);       // pushes it
CEL_MUST_CHECK cel_status cel_parse_operand_list(cel_parse *p);  // "%a, %b"; may be empty
// Makes o->op of the operands read so far, if it is not made yet.
CEL_MUST_CHECK cel_status cel_parse_make(cel_parse *p, cel_parse_op *o);
// Behind the name: "(operands) <{...}> ({...}) {...} : (t) -> t".
CEL_MUST_CHECK cel_status cel_parse_generic(cel_parse *p, cel_parse_op *o);
// "(t, t) -> (t, t)" behind the colon: pushes all, sets n_in and n_out.
CEL_MUST_CHECK cel_status cel_parse_function_type(cel_parse *p, cel_parse_op *o);
// Defines an SSA name (the token, with %) in the innermost scope: value, or group of results.
CEL_MUST_CHECK cel_status cel_parse_define(cel_parse *p, cel_str token, cel_hlo_value *first, int count);

// ---- parse_pretty.c, parse_clause.c --------------------------------------------------------------

// Behind the name of an operation written without quotes.
CEL_MUST_CHECK cel_status cel_parse_pretty(cel_parse *p, cel_parse_op *o);
// "key = value" of operation o, at "key": pushes the attributes it stands for.
CEL_MUST_CHECK cel_status cel_parse_clause(cel_parse *p, cel_parse_op *o);
CEL_MUST_CHECK cel_status cel_parse_slice_range(cel_parse *p);  // "[0:4:2, 1:3]"

// ---- parse_region.c ----------------------------------------------------------------------------

// "{ ... }" as the next region of o->op, with or without a label.
CEL_MUST_CHECK cel_status cel_parse_region(cel_parse *p, cel_parse_op *o);
// Operations up to '}', which is consumed.
CEL_MUST_CHECK cel_status cel_parse_block_body(cel_parse *p);
// "%a: t loc(...), %b: t" up to ')', which is consumed: pushes the types.
CEL_MUST_CHECK cel_status cel_parse_typed_names(cel_parse *p);
CEL_MUST_CHECK cel_status cel_parse_reduce(cel_parse *p, cel_parse_op *o);  // behind "stablehlo.reduce"
CEL_MUST_CHECK cel_status cel_parse_while(cel_parse *p, cel_parse_op *o);   // behind "stablehlo.while"

// ---- parse_func.c ------------------------------------------------------------------------------

CEL_MUST_CHECK cel_status cel_parse_func(cel_parse *p);          // behind func.func
CEL_MUST_CHECK cel_status cel_parse_generic_func(cel_parse *p);  // behind "func.func"

#endif
