// Compiler attributes behind one name each; the only place that looks at the compiler.
#ifndef CEL_BASE_MACROS_H
#define CEL_BASE_MACROS_H

#if defined(__GNUC__) || defined(__clang__)
#define CEL_MUST_CHECK __attribute__((warn_unused_result))
#define CEL_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))
#define CEL_UNUSED __attribute__((unused))
#define CEL_NOINLINE __attribute__((noinline))
#define CEL_ALWAYS_INLINE inline __attribute__((always_inline))
#define CEL_RESTRICT __restrict
#define CEL_LIKELY(x) __builtin_expect(!!(x), 1)
#define CEL_UNLIKELY(x) __builtin_expect(!!(x), 0)
#else
#define CEL_MUST_CHECK
#define CEL_PRINTF(fmt, first)
#define CEL_UNUSED
#define CEL_NOINLINE
#define CEL_ALWAYS_INLINE inline
#define CEL_RESTRICT
#define CEL_LIKELY(x) (x)
#define CEL_UNLIKELY(x) (x)
#endif

#define CEL_COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))
#define CEL_MIN(a, b) ((a) < (b) ? (a) : (b))
#define CEL_MAX(a, b) ((a) > (b) ? (a) : (b))

#endif
