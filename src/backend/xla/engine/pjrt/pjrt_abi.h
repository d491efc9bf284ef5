// The PJRT C interface as far as we call it: layouts and numbers only, in our own words. A plugin is a shared
// library that exports GetPjrtApi; all else goes through the table that it returns.
//
// Source of every layout here: openxla/xla, xla/pjrt/c/pjrt_c_api.h, at interface versions 0.33 and 0.94 (the
// first 93 entries of the table and the fields named here stand at the same places in both), and
// xla/pjrt/proto/compile_options.proto. Called so far: plugins of version 0.115.
//
// How it evolves: within major version 0 the table and the structs only grow at their ends. Every struct begins
// with its size as the caller knows it; a plugin that is older ignores what is behind its own idea of the struct,
// one that is newer takes missing fields as absent. So `size` is exactly what CEL_PJRT_SIZE says of the last field
// known here, never sizeof (which would count padding).
//
// Ownership: an error returned is the caller's, and so is an event; texts of an error live as long as it does.
// Threads: the interface may be called from any thread.
#ifndef CEL_XLA_ENGINE_PJRT_PJRT_ABI_H
#define CEL_XLA_ENGINE_PJRT_PJRT_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  CEL_PJRT_MAJOR = 0,         // another one is another interface
  CEL_PJRT_MINOR_LEAST = 33,  // the oldest whose layouts were compared with these
};

#define CEL_PJRT_SIZE(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))

// Objects of the plugin.
typedef struct cel_pjrt_serialized cel_pjrt_serialized;  // holds the bytes of a program
typedef struct cel_pjrt_description cel_pjrt_description;  // of a device
typedef struct cel_pjrt_error cel_pjrt_error;
typedef struct cel_pjrt_event cel_pjrt_event;
typedef struct cel_pjrt_client cel_pjrt_client;
typedef struct cel_pjrt_device cel_pjrt_device;
typedef struct cel_pjrt_memory cel_pjrt_memory;
typedef struct cel_pjrt_executable cel_pjrt_executable;  // compiled
typedef struct cel_pjrt_loaded cel_pjrt_loaded;          // compiled and ready on devices
typedef struct cel_pjrt_buffer cel_pjrt_buffer;

// What begins every struct. `extensions`: a chain of optional interfaces; NULL from us.
typedef struct cel_pjrt_head {
  size_t size;
  void *extensions;
} cel_pjrt_head;

// The plugin's numbers of element types.
typedef enum cel_pjrt_type {
  CEL_PJRT_INVALID = 0,
  CEL_PJRT_PRED = 1,
  CEL_PJRT_S8 = 2,
  CEL_PJRT_S16 = 3,
  CEL_PJRT_S32 = 4,
  CEL_PJRT_S64 = 5,
  CEL_PJRT_U8 = 6,
  CEL_PJRT_U16 = 7,
  CEL_PJRT_U32 = 8,
  CEL_PJRT_U64 = 9,
  CEL_PJRT_F16 = 10,
  CEL_PJRT_F32 = 11,
  CEL_PJRT_F64 = 12,
  CEL_PJRT_BF16 = 13,
  CEL_PJRT_C64 = 14,
  CEL_PJRT_C128 = 15,
} cel_pjrt_type;

// ---- errors and events: no head but the common one ------------------------------------------------------

typedef struct cel_pjrt_error_args {  // destroy
  cel_pjrt_head head;
  cel_pjrt_error *error;
} cel_pjrt_error_args;

typedef struct cel_pjrt_error_message_args {
  cel_pjrt_head head;
  const cel_pjrt_error *error;
  const char *text;  // out, not terminated
  size_t text_bytes;
} cel_pjrt_error_message_args;

typedef struct cel_pjrt_event_args {  // await, destroy
  cel_pjrt_head head;
  cel_pjrt_event *event;
} cel_pjrt_event_args;

// ---- the client -----------------------------------------------------------------------------------------

typedef struct cel_pjrt_plugin_args {
  cel_pjrt_head head;
} cel_pjrt_plugin_args;

typedef enum cel_pjrt_option {
  CEL_PJRT_OPTION_STRING = 0,
  CEL_PJRT_OPTION_INT = 1,
  CEL_PJRT_OPTION_INT_LIST = 2,
  CEL_PJRT_OPTION_FLOAT = 3,
  CEL_PJRT_OPTION_BOOL = 4,
} cel_pjrt_option;

typedef struct cel_pjrt_named {
  cel_pjrt_head head;
  const char *name;
  size_t name_size;
  cel_pjrt_option type;
  union {
    const char *text;
    int64_t integer;
    const int64_t *integers;
    float real;
    bool boolean;
  } value;
  size_t value_size;  // of a string or list; else 1
} cel_pjrt_named;

typedef struct cel_pjrt_client_create_args {
  cel_pjrt_head head;
  const cel_pjrt_named *options;
  size_t n_options;
  void (*kv_get)(void);  // a store shared by several processes: none
  void *kv_get_context;
  void (*kv_put)(void);
  void *kv_put_context;
  cel_pjrt_client *client;  // out
  void (*kv_try_get)(void);
  void *kv_try_get_context;
} cel_pjrt_client_create_args;

typedef struct cel_pjrt_client_args {  // destroy
  cel_pjrt_head head;
  cel_pjrt_client *client;
} cel_pjrt_client_args;

typedef struct cel_pjrt_client_name_args {  // platform name, platform version
  cel_pjrt_head head;
  cel_pjrt_client *client;
  const char *text;  // out, the client's, not terminated
  size_t text_bytes;
} cel_pjrt_client_name_args;

typedef struct cel_pjrt_devices_args {  // addressable devices
  cel_pjrt_head head;
  cel_pjrt_client *client;
  cel_pjrt_device *const *devices;  // out, the client's
  size_t n;
} cel_pjrt_devices_args;

typedef struct cel_pjrt_describe_args {
  cel_pjrt_head head;
  cel_pjrt_device *device;
  cel_pjrt_description *description;  // out, the device's
} cel_pjrt_describe_args;

typedef struct cel_pjrt_kind_args {  // "NVIDIA H200", "cpu"
  cel_pjrt_head head;
  cel_pjrt_description *description;
  const char *text;  // out, the description's, not terminated
  size_t text_bytes;
} cel_pjrt_kind_args;

typedef struct cel_pjrt_program {
  cel_pjrt_head head;
  const char *code;  // the plugin only reads it in a compilation
  size_t code_bytes;
  const char *format;  // "mlir": StableHLO as text or bytecode
  size_t format_bytes;
} cel_pjrt_program;

typedef struct cel_pjrt_compile_args {
  cel_pjrt_head head;
  cel_pjrt_client *client;
  const cel_pjrt_program *program;
  const char *options;  // a serialized CompileOptionsProto
  size_t options_bytes;
  cel_pjrt_loaded *executable;  // out
} cel_pjrt_compile_args;

// CompileOptionsProto { executable_build_options (field 3) { num_replicas (4): 1, num_partitions (5): 1 } } in
// protobuf's wire format: one device, everything else as the plugin thinks best.
#define CEL_PJRT_ONE_DEVICE "\x1a\x04\x20\x01\x28\x01"
enum { CEL_PJRT_ONE_DEVICE_BYTES = 6 };
// For n devices (n <= 127, byte CEL_PJRT_AT_PARTITIONS): { device_ordinal (1): -1, num_replicas (4): 1, num_partitions (5): n,
// use_spmd_partitioning (6): true, use_shardy_partitioner (19): true }.
#define CEL_PJRT_SHARED "\x1a\x14\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x20\x01\x28\x01\x30\x01\x98\x01\x01"
enum { CEL_PJRT_SHARED_BYTES = 22, CEL_PJRT_AT_PARTITIONS = 16 };

// ---- buffers --------------------------------------------------------------------------------------------

typedef enum cel_pjrt_host {
  CEL_PJRT_HOST_DURING_CALL = 0,     // the plugin has copied the data when the call returns
  CEL_PJRT_HOST_UNTIL_COPIED = 1,    // the data may not change until `done`
  CEL_PJRT_HOST_ALIASED = 2,         // the buffer may be the data itself, never written to
  CEL_PJRT_HOST_ALIASED_WRITABLE = 3,  // the same, and a result may be written over it; not in 0.33
} cel_pjrt_host;

typedef struct cel_pjrt_from_host_args {
  cel_pjrt_head head;
  cel_pjrt_client *client;
  const void *data;
  cel_pjrt_type type;
  const int64_t *dims;
  size_t n_dims;
  const int64_t *strides;  // bytes per dimension; none: dense, row-major
  size_t n_strides;
  cel_pjrt_host host;
  cel_pjrt_device *device;
  cel_pjrt_memory *memory;  // instead of the device's default memory
  void *layout;             // NULL: dense, row-major
  cel_pjrt_event *done;     // out, the caller's: the data is not needed any more
  cel_pjrt_buffer *buffer;  // out, the caller's
} cel_pjrt_from_host_args;

typedef struct cel_pjrt_to_host_args {
  cel_pjrt_head head;
  cel_pjrt_buffer *buffer;
  void *layout;  // NULL: the buffer's own, which is row-major for results of a program that does not say otherwise
  void *data;    // NULL: only `bytes` is answered
  size_t bytes;  // room in data; out where data is NULL
  cel_pjrt_event *done;  // out, the caller's
} cel_pjrt_to_host_args;

typedef struct cel_pjrt_buffer_args {  // destroy
  cel_pjrt_head head;
  cel_pjrt_buffer *buffer;
} cel_pjrt_buffer_args;

// ---- executables ----------------------------------------------------------------------------------------

typedef struct cel_pjrt_executable_args {  // destroy
  cel_pjrt_head head;
  cel_pjrt_executable *executable;
} cel_pjrt_executable_args;

typedef struct cel_pjrt_count_args {  // number of results
  cel_pjrt_head head;
  cel_pjrt_executable *executable;
  size_t n;  // out
} cel_pjrt_count_args;

typedef struct cel_pjrt_loaded_args {  // destroy
  cel_pjrt_head head;
  cel_pjrt_loaded *loaded;
} cel_pjrt_loaded_args;

typedef struct cel_pjrt_get_executable_args {
  cel_pjrt_head head;
  cel_pjrt_loaded *loaded;
  cel_pjrt_executable *executable;  // out, the caller's
} cel_pjrt_get_executable_args;

// Bytes that the same build of the plugin can load again. `free_bytes` is called once on `bytes_of`, which keeps them.
typedef struct cel_pjrt_serialize_args {
  cel_pjrt_head head;
  const cel_pjrt_executable *executable;
  const char *bytes;  // out
  size_t n;           // out
  cel_pjrt_serialized *bytes_of;                   // out
  void (*free_bytes)(cel_pjrt_serialized *bytes_of);  // out
} cel_pjrt_serialize_args;

typedef struct cel_pjrt_deserialize_args {
  cel_pjrt_head head;
  cel_pjrt_client *client;
  const char *bytes;
  size_t n;
  cel_pjrt_loaded *loaded;  // out, the caller's
  const char *options;      // instead of the compile options among the bytes; not in 0.33
  size_t options_bytes;
} cel_pjrt_deserialize_args;

// An argument with tf.aliasing_output is consumed by a run (its buffer may only be destroyed afterwards) unless
// its index is listed in `kept`.
typedef struct cel_pjrt_execute_options {
  cel_pjrt_head head;
  void *send, *receive;
  size_t n_send, n_receive;
  int launch_id;
  const int64_t *kept;
  size_t n_kept;
  void *context;
  const char *call_location;
  size_t n_tasks;
  int *task_ids;
  int64_t *incarnations;
} cel_pjrt_execute_options;

typedef struct cel_pjrt_execute_args {
  cel_pjrt_head head;
  cel_pjrt_loaded *loaded;
  cel_pjrt_execute_options *options;
  cel_pjrt_buffer *const *const *arguments;  // [n_devices][n_arguments]
  size_t n_devices, n_arguments;
  cel_pjrt_buffer **const *results;  // [n_devices][number of results]; the lists are the caller's, filled here
  cel_pjrt_event **done;             // [n_devices] or NULL; events are the caller's
  cel_pjrt_device *device;           // NULL: the one it was compiled for
} cel_pjrt_execute_args;

// ---- the table ------------------------------------------------------------------------------------------

typedef void (*cel_pjrt_unused)(void);

typedef struct cel_pjrt_api {
  cel_pjrt_head head;
  struct {
    cel_pjrt_head head;
    int major, minor;
  } version;
  void (*error_destroy)(cel_pjrt_error_args *);  // entry 0
  void (*error_message)(cel_pjrt_error_message_args *);
  cel_pjrt_unused error_code;
  cel_pjrt_error *(*plugin_initialize)(cel_pjrt_plugin_args *);  // once, before anything else
  cel_pjrt_unused plugin_attributes;
  cel_pjrt_error *(*event_destroy)(cel_pjrt_event_args *);
  cel_pjrt_unused event_is_ready, event_error;
  cel_pjrt_error *(*event_await)(cel_pjrt_event_args *);  // returns the error of what was awaited
  cel_pjrt_unused event_on_ready;
  cel_pjrt_error *(*client_create)(cel_pjrt_client_create_args *);  // entry 10
  cel_pjrt_error *(*client_destroy)(cel_pjrt_client_args *);
  cel_pjrt_error *(*client_platform_name)(cel_pjrt_client_name_args *);
  cel_pjrt_unused client_process_index;
  cel_pjrt_error *(*client_platform_version)(cel_pjrt_client_name_args *);
  cel_pjrt_unused client_devices;
  cel_pjrt_error *(*client_addressable_devices)(cel_pjrt_devices_args *);
  cel_pjrt_unused client_lookup[2], client_memories;
  cel_pjrt_error *(*client_compile)(cel_pjrt_compile_args *);  // entry 20
  cel_pjrt_unused client_default_assignment;
  cel_pjrt_error *(*client_buffer_from_host)(cel_pjrt_from_host_args *);
  cel_pjrt_unused device_description[3];
  cel_pjrt_error *(*description_kind)(cel_pjrt_kind_args *);  // entry 26
  cel_pjrt_unused device_description_text[2];
  cel_pjrt_error *(*device_describe)(cel_pjrt_describe_args *);  // entry 29
  cel_pjrt_unused device[5], memory[5];
  cel_pjrt_error *(*executable_destroy)(cel_pjrt_executable_args *);  // entry 40
  cel_pjrt_unused executable_name, executable_replicas, executable_partitions;
  cel_pjrt_error *(*executable_results)(cel_pjrt_count_args *);
  cel_pjrt_unused executable_other[4];
  cel_pjrt_error *(*executable_serialize)(cel_pjrt_serialize_args *);  // entry 49
  cel_pjrt_error *(*loaded_destroy)(cel_pjrt_loaded_args *);  // entry 50
  cel_pjrt_error *(*loaded_get_executable)(cel_pjrt_get_executable_args *);
  cel_pjrt_unused loaded_devices, loaded_delete, loaded_is_deleted;
  cel_pjrt_error *(*loaded_execute)(cel_pjrt_execute_args *);
  cel_pjrt_error *(*executable_deserialize)(cel_pjrt_deserialize_args *);
  cel_pjrt_unused loaded_fingerprint;
  cel_pjrt_error *(*buffer_destroy)(cel_pjrt_buffer_args *);  // entry 58
  cel_pjrt_unused buffer_other[11];
  cel_pjrt_error *(*buffer_to_host)(cel_pjrt_to_host_args *);  // entry 70
} cel_pjrt_api;

#define CEL_PJRT_ENTRY(name) ((offsetof(cel_pjrt_api, name) - offsetof(cel_pjrt_api, error_destroy)) / sizeof(cel_pjrt_unused))
_Static_assert(offsetof(cel_pjrt_api, error_destroy) == 2 * sizeof(size_t) + sizeof(cel_pjrt_head) + 2 * sizeof(int),
               "the table begins behind two heads and two version numbers");
_Static_assert(CEL_PJRT_ENTRY(client_create) == 10 && CEL_PJRT_ENTRY(client_compile) == 20 &&
                   CEL_PJRT_ENTRY(client_buffer_from_host) == 22 && CEL_PJRT_ENTRY(executable_destroy) == 40 &&
                   CEL_PJRT_ENTRY(description_kind) == 26 && CEL_PJRT_ENTRY(device_describe) == 29 &&
                   CEL_PJRT_ENTRY(executable_serialize) == 49 && CEL_PJRT_ENTRY(executable_deserialize) == 56 &&
                   CEL_PJRT_ENTRY(loaded_destroy) == 50 && CEL_PJRT_ENTRY(loaded_execute) == 55 &&
                   CEL_PJRT_ENTRY(buffer_destroy) == 58 && CEL_PJRT_ENTRY(buffer_to_host) == 70,
               "entries of the table where the interface has them");

// The symbol GetPjrtApi of a plugin.
typedef const cel_pjrt_api *(*cel_pjrt_get_api)(void);

#endif
