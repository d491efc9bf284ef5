// Compiler attributes behind one name each; the only place that looks at the compiler.
#ifndef CEL_BASE_MACROS_H
#define CEL_BASE_MACROS_H

#if defined(__GNUC__) || defined(__clang__)
#define CEL_MUST_CHECK __attribute__((warn_unused_result))
#define CEL_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))
#define CEL_UNUSED __attribute__((unused))
#define CEL_NOINLINE __attribute__((noinline))
#define CEL_ALWAYS_INLINE inline __attribute__((always_inline))
#define CEL_TARGET(isa) __attribute__((target(isa)))  // a function with instructions that its callers have asked for
#define CEL_RESTRICT __restrict
#define CEL_LIKELY(x) __builtin_expect(!!(x), 1)
#define CEL_UNLIKELY(x) __builtin_expect(!!(x), 0)
#else
#define CEL_MUST_CHECK
#define CEL_PRINTF(fmt, first)
#define CEL_UNUSED
#define CEL_NOINLINE
#define CEL_ALWAYS_INLINE inline
#define CEL_TARGET(isa)
#define CEL_RESTRICT
#define CEL_LIKELY(x) (x)
#define CEL_UNLIKELY(x) (x)
#endif

// Before a loop of constant bounds. Not under sanitizers, whose checks make unrolled kernels take minutes to compile, nor
// where CEL_NO_UNROLL says so.
#if defined(__has_feature)
#define CEL_HAS_SANITIZER (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CEL_HAS_SANITIZER 1
#else
#define CEL_HAS_SANITIZER 0
#endif
#define CEL_PRAGMA(words) _Pragma(#words)
#if CEL_HAS_SANITIZER || defined(CEL_NO_UNROLL)
#define CEL_UNROLLED(n)
#else
#define CEL_UNROLLED(n) CEL_PRAGMA(GCC unroll n)
#endif

#define CEL_COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))
#define CEL_MIN(a, b) ((a) < (b) ? (a) : (b))
#define CEL_MAX(a, b) ((a) > (b) ? (a) : (b))

#endif
