/* The part of Godot 3's GDNative that worldd_godot.c uses. Godot passes one table of functions, whose order is the same in all versions
 * of Godot 3: these are their places. */
#ifndef WORLDD_GDNATIVE_H
#define WORLDD_GDNATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Values of Godot, opaque but for their sizes, with 64-bit pointers. */
typedef union gd_variant {
    uint8_t bytes[24];
    uint64_t aligned;
} gd_variant;
typedef struct gd_value { /* a string, an array, a dictionary or a pool array */
    void *shared;
} gd_value;

typedef struct gd_table {
    unsigned type, version[2];
    const struct gd_table *next;
    unsigned count;
    const struct gd_table **extensions; /* of the core's table alone */
    void (*functions[])(void);
} gd_table;

typedef struct gd_nativescript {
    unsigned type, version[2];
    const struct gd_table *next;
    void (*functions[])(void);
} gd_nativescript;

typedef struct gd_init_options {
    bool in_editor;
    uint64_t hashes[3];
    void (*report[2])(void);
    void *library;
    const gd_table *core;
    const gd_value *path;
} gd_init_options;

/* Functions that Godot calls, with the data that they were registered with. */
typedef struct gd_create {
    void *(*call)(void *object, void *data);
    void *data;
    void (*free)(void *data);
} gd_create;
typedef struct gd_destroy {
    void (*call)(void *object, void *data, void *user);
    void *data;
    void (*free)(void *data);
} gd_destroy;
typedef struct gd_method {
    gd_variant (*call)(void *object, void *data, void *user, int count, gd_variant **args);
    void *data;
    void (*free)(void *data);
} gd_method;

enum { GD_NATIVESCRIPT = 1 };                            /* the type of an extension */
enum { GD_REGISTER_CLASS = 0, GD_REGISTER_METHOD = 2 }; /* its functions */

/* Functions of the core. */
enum {
    GD_BYTES_NEW = 155, GD_BYTES_RESIZE = 164, GD_BYTES_READ = 165, GD_BYTES_WRITE = 166, GD_BYTES_SIZE = 169, GD_BYTES_DESTROY = 170,
    GD_BYTES_READ_AT = 268, GD_BYTES_READ_END = 270, GD_BYTES_WRITE_AT = 296, GD_BYTES_WRITE_END = 298,
    GD_REALS_NEW = 187, GD_REALS_RESIZE = 196, GD_REALS_WRITE = 198, GD_REALS_DESTROY = 202, GD_REALS_WRITE_AT = 304, GD_REALS_WRITE_END = 306,
    GD_ARRAY_NEW = 323, GD_ARRAY_GET = 333, GD_ARRAY_APPEND = 336, GD_ARRAY_SIZE = 356, GD_ARRAY_DESTROY = 361,
    GD_DICTIONARY_NEW = 362, GD_DICTIONARY_DESTROY = 364, GD_DICTIONARY_SET = 375,
    GD_VARIANT_NEW_COPY = 508, GD_VARIANT_NEW_NIL = 509, GD_VARIANT_NEW_INT = 512, GD_VARIANT_NEW_REAL = 513, GD_VARIANT_NEW_STRING = 514,
    GD_VARIANT_NEW_DICTIONARY = 528, GD_VARIANT_NEW_ARRAY = 529, GD_VARIANT_NEW_BYTES = 530, GD_VARIANT_NEW_REALS = 532,
    GD_VARIANT_AS_INT = 539, GD_VARIANT_AS_REAL = 540, GD_VARIANT_AS_STRING = 541, GD_VARIANT_AS_ARRAY = 556, GD_VARIANT_AS_BYTES = 557,
    GD_VARIANT_CALL = 564, GD_VARIANT_HAS_METHOD = 565, GD_VARIANT_DESTROY = 570,
    GD_CHARS_DATA = 572, GD_CHARS_DESTROY = 573,
    GD_STRING_NEW = 574, GD_STRING_UTF8 = 678, GD_STRING_PARSE_UTF8 = 679, GD_STRING_DESTROY = 721
};

#endif
