/* The class WorlddClient for GDScript in Godot 3, by GDNative: README.md beside this file lists its methods. */
#include <stdlib.h>
#include <string.h>

#include "gdnative.h"
#include "worldd.h"

#if defined(_WIN32)
#define GD_EXPORT __declspec(dllexport)
#else
#define GD_EXPORT __attribute__((visibility("default")))
#endif

static const gd_table *core; /* Godot sets it once, before all else */

#define GD(place, result, ...) ((result(*)(__VA_ARGS__))core->functions[place])

typedef gd_value gd_name;

/* Values for Godot. */

static gd_variant nil(void) {
    gd_variant v;
    GD(GD_VARIANT_NEW_NIL, void, gd_variant *)(&v);
    return v;
}

static gd_variant of_int(int64_t i) {
    gd_variant v;
    GD(GD_VARIANT_NEW_INT, void, gd_variant *, int64_t)(&v, i);
    return v;
}

static gd_variant of_real(double r) {
    gd_variant v;
    GD(GD_VARIANT_NEW_REAL, void, gd_variant *, double)(&v, r);
    return v;
}

static gd_variant of_text(const char *text) {
    gd_variant v;
    gd_value s;
    GD(GD_STRING_NEW, void, gd_value *)(&s);
    GD(GD_STRING_PARSE_UTF8, bool, gd_value *, const char *)(&s, text);
    GD(GD_VARIANT_NEW_STRING, void, gd_variant *, const gd_value *)(&v, &s);
    GD(GD_STRING_DESTROY, void, gd_value *)(&s);
    return v;
}

static gd_variant of_bytes(const void *bytes, size_t n) {
    gd_variant v;
    gd_value a;
    GD(GD_BYTES_NEW, void, gd_value *)(&a);
    GD(GD_BYTES_RESIZE, void, gd_value *, int)(&a, (int)n);
    if (n > 0) {
        void *access = GD(GD_BYTES_WRITE, void *, gd_value *)(&a);
        memcpy(GD(GD_BYTES_WRITE_AT, uint8_t *, const void *)(access), bytes, n);
        GD(GD_BYTES_WRITE_END, void, void *)(access);
    }
    GD(GD_VARIANT_NEW_BYTES, void, gd_variant *, const gd_value *)(&v, &a);
    GD(GD_BYTES_DESTROY, void, gd_value *)(&a);
    return v;
}

static gd_variant of_reals(const float *reals, size_t n) {
    gd_variant v;
    gd_value a;
    GD(GD_REALS_NEW, void, gd_value *)(&a);
    GD(GD_REALS_RESIZE, void, gd_value *, int)(&a, (int)n);
    if (n > 0) {
        void *access = GD(GD_REALS_WRITE, void *, gd_value *)(&a);
        memcpy(GD(GD_REALS_WRITE_AT, float *, const void *)(access), reals, n * sizeof *reals);
        GD(GD_REALS_WRITE_END, void, void *)(access);
    }
    GD(GD_VARIANT_NEW_REALS, void, gd_variant *, const gd_value *)(&v, &a);
    GD(GD_REALS_DESTROY, void, gd_value *)(&a);
    return v;
}

/* of_handles makes an array of integers; handles keep their 64 bits. */
static gd_variant of_handles(const wd_handle *handles, size_t n) {
    gd_variant v;
    gd_value a;
    GD(GD_ARRAY_NEW, void, gd_value *)(&a);
    for (size_t i = 0; i < n; i++) {
        gd_variant h = of_int((int64_t)handles[i]);
        GD(GD_ARRAY_APPEND, void, gd_value *, const gd_variant *)(&a, &h);
        GD(GD_VARIANT_DESTROY, void, gd_variant *)(&h);
    }
    GD(GD_VARIANT_NEW_ARRAY, void, gd_variant *, const gd_value *)(&v, &a);
    GD(GD_ARRAY_DESTROY, void, gd_value *)(&a);
    return v;
}

static gd_value new_dictionary(void) {
    gd_value d;
    GD(GD_DICTIONARY_NEW, void, gd_value *)(&d);
    return d;
}

/* put sets dictionary[key], and destroys value. */
static void put(gd_value *dictionary, const char *key, gd_variant value) {
    gd_variant k = of_text(key);
    GD(GD_DICTIONARY_SET, void, gd_value *, const gd_variant *, const gd_variant *)(dictionary, &k, &value);
    GD(GD_VARIANT_DESTROY, void, gd_variant *)(&k);
    GD(GD_VARIANT_DESTROY, void, gd_variant *)(&value);
}

static gd_variant finish(gd_value *dictionary) {
    gd_variant v;
    GD(GD_VARIANT_NEW_DICTIONARY, void, gd_variant *, const gd_value *)(&v, dictionary);
    GD(GD_DICTIONARY_DESTROY, void, gd_value *)(dictionary);
    return v;
}

/* Values from Godot. */

static double to_real(const gd_variant *v) { return GD(GD_VARIANT_AS_REAL, double, const gd_variant *)(v); }

static int64_t to_int(const gd_variant *v) { return GD(GD_VARIANT_AS_INT, int64_t, const gd_variant *)(v); }

/* to_text returns a copy, which the caller frees. */
static char *to_text(const gd_variant *v) {
    gd_value s = GD(GD_VARIANT_AS_STRING, gd_value, const gd_variant *)(v);
    gd_value chars = GD(GD_STRING_UTF8, gd_value, const gd_value *)(&s);
    const char *data = GD(GD_CHARS_DATA, const char *, const gd_value *)(&chars);
    size_t n = strlen(data) + 1;
    char *copy = malloc(n);
    if (copy) memcpy(copy, data, n);
    GD(GD_CHARS_DESTROY, void, gd_value *)(&chars);
    GD(GD_STRING_DESTROY, void, gd_value *)(&s);
    return copy;
}

/* to_bytes returns a copy, which the caller frees. */
static void *to_bytes(const gd_variant *v, size_t *n) {
    gd_value a = GD(GD_VARIANT_AS_BYTES, gd_value, const gd_variant *)(v);
    *n = (size_t)GD(GD_BYTES_SIZE, int, const gd_value *)(&a);
    void *copy = malloc(*n + 1);
    if (copy && *n > 0) {
        void *access = GD(GD_BYTES_READ, void *, const gd_value *)(&a);
        memcpy(copy, GD(GD_BYTES_READ_AT, const uint8_t *, const void *)(access), *n);
        GD(GD_BYTES_READ_END, void, void *)(access);
    }
    GD(GD_BYTES_DESTROY, void, gd_value *)(&a);
    return copy;
}

/* to_handles returns a copy, which the caller frees. */
static wd_handle *to_handles(const gd_variant *v, size_t *n) {
    gd_value a = GD(GD_VARIANT_AS_ARRAY, gd_value, const gd_variant *)(v);
    *n = (size_t)GD(GD_ARRAY_SIZE, int, const gd_value *)(&a);
    wd_handle *copy = malloc((*n + 1) * sizeof *copy);
    for (size_t i = 0; copy && i < *n; i++) {
        gd_variant h = GD(GD_ARRAY_GET, gd_variant, const gd_value *, int)(&a, (int)i);
        copy[i] = (wd_handle)to_int(&h);
        GD(GD_VARIANT_DESTROY, void, gd_variant *)(&h);
    }
    GD(GD_ARRAY_DESTROY, void, gd_value *)(&a);
    return copy;
}

static gd_value to_array(const gd_variant *v) { return GD(GD_VARIANT_AS_ARRAY, gd_value, const gd_variant *)(v); }

static int64_t array_size(const gd_value *a) { return GD(GD_ARRAY_SIZE, int, const gd_value *)(a); }

static gd_variant array_at(const gd_value *a, int64_t i) { return GD(GD_ARRAY_GET, gd_variant, const gd_value *, int)(a, (int)i); }

static void free_array(gd_value *a) { GD(GD_ARRAY_DESTROY, void, gd_value *)(a); }

static gd_variant copy_variant(const gd_variant *v) {
    gd_variant copy;
    GD(GD_VARIANT_NEW_COPY, void, gd_variant *, const gd_variant *)(&copy, v);
    return copy;
}

static void free_variant(gd_variant *v) { GD(GD_VARIANT_DESTROY, void, gd_variant *)(v); }

/* Methods of objects. */

static gd_name to_name(const gd_variant *v) { return GD(GD_VARIANT_AS_STRING, gd_value, const gd_variant *)(v); }

static void free_name(gd_name *name) { GD(GD_STRING_DESTROY, void, gd_value *)(name); }

static bool has_method(const gd_variant *object, const gd_name *name) {
    return GD(GD_VARIANT_HAS_METHOD, bool, const gd_variant *, const gd_name *)(object, name);
}

/* call_method calls a method with three arguments. */
static gd_variant call_method(gd_variant *object, const gd_name *name, const gd_variant args[3]) {
    int error[3]; /* a code, an argument, and the type that it should have */
    const gd_variant *pointers[] = {&args[0], &args[1], &args[2]};
    return GD(GD_VARIANT_CALL, gd_variant, gd_variant *, const gd_name *, const gd_variant **, int, int *)(object, name, pointers, 3, error);
}

#include "worldd_class.h"

/* call is all methods for Godot. A call with another number of arguments returns null. */
static gd_variant call(void *object, void *data, void *user, int count, gd_variant **args) {
    const method *m = data;
    (void)object;
    return user && count == m->arguments ? m->call(user, (const gd_variant *const *)args) : nil();
}

static void *create(void *object, void *data) {
    (void)object, (void)data;
    return calloc(1, sizeof(instance));
}

static void destroy(void *object, void *data, void *user) {
    (void)object, (void)data;
    free_instance(user);
}

/* What Godot calls. */

GD_EXPORT void godot_gdnative_init(const gd_init_options *options);
GD_EXPORT void godot_gdnative_terminate(const void *options);
GD_EXPORT void godot_nativescript_init(void *library);

void godot_gdnative_init(const gd_init_options *options) { core = options->core; }

void godot_gdnative_terminate(const void *options) {
    (void)options;
    wd_shutdown();
}

void godot_nativescript_init(void *library) {
    for (unsigned i = 0; i < core->count; i++) {
        const gd_nativescript *script = (const gd_nativescript *)(const void *)core->extensions[i];
        if (script->type != GD_NATIVESCRIPT) continue;
        typedef void register_class(void *, const char *, const char *, gd_create, gd_destroy);
        typedef void register_method(void *, const char *, const char *, int, gd_method);
        ((register_class *)script->functions[GD_REGISTER_CLASS])(library, "WorlddClient", "Reference", (gd_create){create, NULL, NULL}, (gd_destroy){destroy, NULL, NULL});
        for (size_t m = 0; m < sizeof methods / sizeof *methods; m++)
            ((register_method *)script->functions[GD_REGISTER_METHOD])(library, "WorlddClient", methods[m].name, 0, (gd_method){call, (void *)&methods[m], NULL});
        return;
    }
}
