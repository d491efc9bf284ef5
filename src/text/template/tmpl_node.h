// The tree of a compiled template. Nodes live in the template's arena and never change after compiling.
#ifndef CEL_TEXT_TEMPLATE_TMPL_NODE_H
#define CEL_TEXT_TEMPLATE_TMPL_NODE_H

#include "base/arena.h"
#include "text/template/template.h"
#include "text/template/tmpl_value.h"

typedef enum cel_tnode_kind {
  // expressions
  CEL_N_CONST,    // value
  CEL_N_NAME,     // name
  CEL_N_LIST,     // items
  CEL_N_TUPLE,    // items; also a target of assignments
  CEL_N_DICT,     // items: key, value, key, value ...
  CEL_N_ATTR,     // a . value (a string)
  CEL_N_ITEM,     // a [ b ]
  CEL_N_SLICE,    // items: start, stop, step, each may be NULL; only as b of an item
  CEL_N_CALL,     // a ( args )
  CEL_N_FILTER,   // a | value ( args ); a is NULL in filter blocks: the block's text
  CEL_N_TEST,     // a is value ( args )
  CEL_N_NOT,
  CEL_N_NEG,
  CEL_N_POS,
  CEL_N_AND,
  CEL_N_OR,
  CEL_N_COMPARE,  // items: operands; ops[i] stands before items[i], ops[0] unused
  CEL_N_BINARY,   // a op b
  CEL_N_CONCAT,   // items
  CEL_N_COND,     // a if b else c (c may be NULL)
  CEL_N_NSREF,    // name . value; only a target
  // statements
  CEL_N_DATA,     // value
  CEL_N_PRINT,    // a
  CEL_N_IF,       // items: test, body, test, body ..., and a last body when the number is odd
  CEL_N_FOR,      // a: target, b: iterable, c: test or NULL, items: body, else (or NULL); flag: recursive
  CEL_N_SET,      // a: target, b: value
  CEL_N_SET_BLOCK,  // a: target, b: filter or NULL, c: body
  CEL_N_MACRO,    // macro
  CEL_N_CALL_BLOCK,  // a: call, macro
  CEL_N_FILTER_BLOCK,  // a: filter, b: body
  CEL_N_WITH,     // items: target, value, ..., body last
  CEL_N_SCOPE,    // a: body, in a scope of its own
  CEL_N_BLOCK,    // a: body, seeing only the outermost scope
  CEL_N_BODY,     // items
  CEL_N_BREAK,
  CEL_N_CONTINUE,
  CEL_N_REFUSE,   // fails when reached; value: why
} cel_tnode_kind;

typedef enum cel_top {
  CEL_OP_ADD, CEL_OP_SUB, CEL_OP_MUL, CEL_OP_DIV, CEL_OP_FLOORDIV, CEL_OP_MOD, CEL_OP_POW,
  CEL_OP_EQ, CEL_OP_NE, CEL_OP_LT, CEL_OP_LE, CEL_OP_GT, CEL_OP_GE, CEL_OP_IN, CEL_OP_NOT_IN,
} cel_top;

typedef struct cel_tnode cel_tnode;

typedef struct cel_tnode_args {
  cel_tnode **pos;  // [n_pos]
  struct cel_tnode_kwarg {
    cel_str name;
    cel_tnode *value;
  } *kw;  // [n_kw]
  int n_pos, n_kw;
  cel_tnode *star, *star_star;  // *args, **kwargs or NULL
} cel_tnode_args;

// A macro or the body of a call block.
typedef struct cel_tnode_macro {
  cel_str name;  // "" for a call block
  uint32_t name_id;
  uint32_t *params;      // [n_params] name ids
  cel_str *param_names;  // [n_params]
  cel_tnode **defaults;  // [n_params], NULL where there is none
  int n_params;
  bool uses_varargs, uses_kwargs, uses_caller;
  cel_tnode *body;
} cel_tnode_macro;

struct cel_tnode {
  uint8_t kind, op, flag;
  uint32_t line, column;
  uint32_t name;  // id
  cel_tval value;
  cel_tnode *a, *b, *c;
  cel_tnode **items;  // [n_items]
  uint8_t *ops;
  int n_items;
  cel_tnode_args *args;
  cel_tnode_macro *macro;
};

struct cel_template {
  cel_arena arena;
  const char *name;
  cel_tnode *body;
  cel_str *names;  // [n_names] what the ids stand for
  uint32_t n_names;
};

// Ids every template has.
enum { CEL_NAME_LOOP, CEL_NAME_CALLER, CEL_NAME_VARARGS, CEL_NAME_KWARGS, CEL_NAME_FIXED };

#endif
