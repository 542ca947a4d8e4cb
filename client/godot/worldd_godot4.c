/* The class WorlddClient for GDScript in Godot 4, by GDExtension: README.md beside this file lists its methods. Godot writes the header
 * gdextension_interface.h. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "gdextension_interface.h"
#include "worldd.h"

#if defined(_WIN32)
#define GD_EXPORT __declspec(dllexport)
#else
#define GD_EXPORT __attribute__((visibility("default")))
#endif

/* The functions of Godot's interface that the class needs: their types and names. */
#define FUNCTIONS(F) \
    F(VariantNewNil, variant_new_nil) \
    F(VariantNewCopy, variant_new_copy) \
    F(VariantDestroy, variant_destroy) \
    F(VariantCall, variant_call) \
    F(VariantHasMethod, variant_has_method) \
    F(GetVariantFromTypeConstructor, get_variant_from_type_constructor) \
    F(GetVariantToTypeConstructor, get_variant_to_type_constructor) \
    F(VariantGetPtrConstructor, variant_get_ptr_constructor) \
    F(VariantGetPtrDestructor, variant_get_ptr_destructor) \
    F(VariantGetPtrBuiltinMethod, variant_get_ptr_builtin_method) \
    F(StringNewWithUtf8Chars, string_new_with_utf8_chars) \
    F(StringToUtf8Chars, string_to_utf8_chars) \
    F(StringNameNewWithUtf8Chars, string_name_new_with_utf8_chars) \
    F(PackedByteArrayOperatorIndex, packed_byte_array_operator_index) \
    F(PackedByteArrayOperatorIndexConst, packed_byte_array_operator_index_const) \
    F(PackedInt64ArrayOperatorIndex, packed_int64_array_operator_index) \
    F(PackedInt64ArrayOperatorIndexConst, packed_int64_array_operator_index_const) \
    F(PackedFloat32ArrayOperatorIndex, packed_float32_array_operator_index) \
    F(ArrayOperatorIndexConst, array_operator_index_const) \
    F(DictionaryOperatorIndex, dictionary_operator_index) \
    F(ClassdbConstructObject, classdb_construct_object) \
    F(ObjectSetInstance, object_set_instance) \
    F(ClassdbRegisterExtensionClass2, classdb_register_extension_class2) \
    F(ClassdbRegisterExtensionClassMethod, classdb_register_extension_class_method) \
    F(ClassdbUnregisterExtensionClass, classdb_unregister_extension_class)

enum {
    INT = GDEXTENSION_VARIANT_TYPE_INT,
    FLOAT = GDEXTENSION_VARIANT_TYPE_FLOAT,
    STRING = GDEXTENSION_VARIANT_TYPE_STRING,
    NAME = GDEXTENSION_VARIANT_TYPE_STRING_NAME,
    DICTIONARY = GDEXTENSION_VARIANT_TYPE_DICTIONARY,
    ARRAY = GDEXTENSION_VARIANT_TYPE_ARRAY,
    BYTES = GDEXTENSION_VARIANT_TYPE_PACKED_BYTE_ARRAY,
    INTS = GDEXTENSION_VARIANT_TYPE_PACKED_INT64_ARRAY,
    FLOATS = GDEXTENSION_VARIANT_TYPE_PACKED_FLOAT32_ARRAY,
    TYPES = FLOATS + 1
};

/* What Godot provides, set once, before all else. */
static struct {
#define MEMBER(type, name) GDExtensionInterface##type name;
    FUNCTIONS(MEMBER)
#undef MEMBER
    /* By type: */
    GDExtensionVariantFromTypeConstructorFunc from[TYPES];
    GDExtensionTypeFromVariantConstructorFunc to[TYPES];
    GDExtensionPtrConstructor create[TYPES];
    GDExtensionPtrDestructor destroy[TYPES];
    GDExtensionPtrBuiltInMethod size[TYPES], resize[TYPES];
} godot;

typedef union gd_variant { /* opaque, and as large as in the builds of Godot with double precision */
    uint8_t bytes[40];
    uint64_t aligned;
} gd_variant;
typedef union gd_value { /* a string, an array or a dictionary: opaque, and as large as a packed array */
    uint8_t bytes[16];
    uint64_t aligned;
} gd_value;
typedef gd_value gd_name;

/* Values for Godot. */

static gd_variant nil(void) {
    gd_variant v;
    godot.variant_new_nil(&v);
    return v;
}

static gd_variant of_int(int64_t i) {
    gd_variant v;
    godot.from[INT](&v, &i);
    return v;
}

static gd_variant of_real(double r) {
    gd_variant v;
    godot.from[FLOAT](&v, &r);
    return v;
}

/* of makes a variant of a value, and destroys the value. */
static gd_variant of(int type, gd_value *value) {
    gd_variant v;
    godot.from[type](&v, value);
    godot.destroy[type](value);
    return v;
}

static gd_variant of_text(const char *text) {
    gd_value s;
    godot.string_new_with_utf8_chars(&s, text);
    return of(STRING, &s);
}

static gd_value new_packed(int type, size_t n) {
    gd_value a;
    GDExtensionInt count = (GDExtensionInt)n, error;
    const GDExtensionConstTypePtr args[] = {&count};
    godot.create[type](&a, NULL);
    godot.resize[type](&a, args, &error, 1);
    return a;
}

static gd_variant of_bytes(const void *bytes, size_t n) {
    gd_value a = new_packed(BYTES, n);
    if (n > 0) memcpy(godot.packed_byte_array_operator_index(&a, 0), bytes, n);
    return of(BYTES, &a);
}

static gd_variant of_reals(const float *reals, size_t n) {
    gd_value a = new_packed(FLOATS, n);
    if (n > 0) memcpy(godot.packed_float32_array_operator_index(&a, 0), reals, n * sizeof *reals);
    return of(FLOATS, &a);
}

static gd_variant of_handles(const wd_handle *handles, size_t n) {
    gd_value a = new_packed(INTS, n);
    if (n > 0) memcpy(godot.packed_int64_array_operator_index(&a, 0), handles, n * sizeof *handles);
    return of(INTS, &a);
}

static gd_value new_dictionary(void) {
    gd_value d;
    godot.create[DICTIONARY](&d, NULL);
    return d;
}

static gd_variant finish(gd_value *dictionary) { return of(DICTIONARY, dictionary); }

/* put sets dictionary[key], which is new, and destroys value. */
static void put(gd_value *dictionary, const char *key, gd_variant value) {
    gd_variant k = of_text(key);
    godot.variant_new_copy(godot.dictionary_operator_index(dictionary, &k), &value);
    godot.variant_destroy(&k);
    godot.variant_destroy(&value);
}

/* Values from Godot, which converts other types. */

static int64_t to_int(const gd_variant *v) {
    int64_t i;
    godot.to[INT](&i, (GDExtensionVariantPtr)v);
    return i;
}

static double to_real(const gd_variant *v) {
    double r;
    godot.to[FLOAT](&r, (GDExtensionVariantPtr)v);
    return r;
}

/* to_text returns a copy, which the caller frees. */
static char *to_text(const gd_variant *v) {
    gd_value s;
    godot.to[STRING](&s, (GDExtensionVariantPtr)v);
    GDExtensionInt n = godot.string_to_utf8_chars(&s, NULL, 0);
    char *copy = calloc(1, (size_t)n + 1);
    if (copy) godot.string_to_utf8_chars(&s, copy, n);
    godot.destroy[STRING](&s);
    return copy;
}

static int64_t size_of(int type, const gd_value *a) {
    GDExtensionInt n = 0;
    godot.size[type]((GDExtensionTypePtr)a, NULL, &n, 0);
    return n;
}

/* to_bytes returns a copy, which the caller frees. */
static void *to_bytes(const gd_variant *v, size_t *n) {
    gd_value a;
    godot.to[BYTES](&a, (GDExtensionVariantPtr)v);
    *n = (size_t)size_of(BYTES, &a);
    void *copy = malloc(*n + 1);
    if (copy && *n > 0) memcpy(copy, godot.packed_byte_array_operator_index_const(&a, 0), *n);
    godot.destroy[BYTES](&a);
    return copy;
}

/* to_handles returns a copy, which the caller frees. */
static wd_handle *to_handles(const gd_variant *v, size_t *n) {
    gd_value a;
    godot.to[INTS](&a, (GDExtensionVariantPtr)v);
    *n = (size_t)size_of(INTS, &a);
    wd_handle *copy = malloc((*n + 1) * sizeof *copy);
    if (copy && *n > 0) memcpy(copy, godot.packed_int64_array_operator_index_const(&a, 0), *n * sizeof *copy);
    godot.destroy[INTS](&a);
    return copy;
}

static gd_value to_array(const gd_variant *v) {
    gd_value a;
    godot.to[ARRAY](&a, (GDExtensionVariantPtr)v);
    return a;
}

static int64_t array_size(const gd_value *a) { return size_of(ARRAY, a); }

static gd_variant copy_variant(const gd_variant *v) {
    gd_variant copy;
    godot.variant_new_copy(&copy, v);
    return copy;
}

static gd_variant array_at(const gd_value *a, int64_t i) { return copy_variant(godot.array_operator_index_const(a, i)); }

static void free_array(gd_value *a) { godot.destroy[ARRAY](a); }

static void free_variant(gd_variant *v) { godot.variant_destroy(v); }

/* Methods of objects. */

static gd_name to_name(const gd_variant *v) {
    gd_name name;
    godot.to[NAME](&name, (GDExtensionVariantPtr)v);
    return name;
}

static void free_name(gd_name *name) { godot.destroy[NAME](name); }

static bool has_method(const gd_variant *object, const gd_name *name) { return godot.variant_has_method(object, name); }

/* call_method calls a method with three arguments. */
static gd_variant call_method(gd_variant *object, const gd_name *name, const gd_variant args[3]) {
    gd_variant returned;
    GDExtensionCallError error;
    const GDExtensionConstVariantPtr pointers[] = {&args[0], &args[1], &args[2]};
    godot.variant_call(object, name, pointers, 3, &returned, &error);
    return returned;
}

#include "worldd_class.h"

static gd_name name_of(const char *text) {
    gd_name name;
    godot.string_name_new_with_utf8_chars(&name, text);
    return name;
}

/* call is all methods for Godot. */
static void call(void *data, GDExtensionClassInstancePtr self, const GDExtensionConstVariantPtr *args, GDExtensionInt count, GDExtensionVariantPtr returned,
                 GDExtensionCallError *error) {
    const method *m = data;
    if (!self || count != m->arguments) {
        error->error = !self                    ? GDEXTENSION_CALL_ERROR_INSTANCE_IS_NULL
                       : count < m->arguments ? GDEXTENSION_CALL_ERROR_TOO_FEW_ARGUMENTS
                                                : GDEXTENSION_CALL_ERROR_TOO_MANY_ARGUMENTS;
        error->expected = m->arguments;
        return;
    }
    gd_variant v = m->call(self, (const gd_variant *const *)args);
    godot.variant_destroy(returned);
    godot.variant_new_copy(returned, &v);
    godot.variant_destroy(&v);
}

static GDExtensionObjectPtr create(void *data) {
    (void)data;
    gd_name class = name_of("WorlddClient"), parent = name_of("RefCounted");
    GDExtensionObjectPtr object = godot.classdb_construct_object(&parent);
    godot.object_set_instance(object, &class, calloc(1, sizeof(instance)));
    free_name(&parent);
    free_name(&class);
    return object;
}

static void destroy(void *data, GDExtensionClassInstancePtr self) {
    (void)data;
    free_instance(self);
}

/* register_class registers the class. Its methods take any number of arguments for Godot, and call counts them: then a script may pass
 * numbers, names and arrays of any type, which are converted. */
static void register_class(GDExtensionClassLibraryPtr library) {
    enum { ANY = 6 | 1 << 17 }; /* usage of a property: the default, and nil stands for a variant */
    gd_name class = name_of("WorlddClient"), parent = name_of("RefCounted"), none = name_of("");
    gd_value hint;
    GDExtensionClassCreationInfo2 info = {.is_exposed = true, .create_instance_func = create, .free_instance_func = destroy};
    godot.string_new_with_utf8_chars(&hint, "");
    godot.classdb_register_extension_class2(library, &class, &parent, &info);
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        gd_name name = name_of(methods[i].name);
        GDExtensionPropertyInfo returns = {.name = &none, .class_name = &none, .hint_string = &hint, .usage = ANY};
        GDExtensionClassMethodInfo m = {.name = &name, .method_userdata = (void *)&methods[i], .call_func = call, .has_return_value = true, .return_value_info = &returns,
                                        .method_flags = GDEXTENSION_METHOD_FLAGS_DEFAULT | GDEXTENSION_METHOD_FLAG_VARARG};
        godot.classdb_register_extension_class_method(library, &class, &m);
        free_name(&name);
    }
    godot.destroy[STRING](&hint);
    free_name(&none);
    free_name(&parent);
    free_name(&class);
}

/* What Godot calls. */

static void initialize(void *library, GDExtensionInitializationLevel level) {
    if (level == GDEXTENSION_INITIALIZATION_SCENE) register_class(library);
}

static void deinitialize(void *library, GDExtensionInitializationLevel level) {
    if (level != GDEXTENSION_INITIALIZATION_SCENE) return;
    gd_name class = name_of("WorlddClient");
    godot.classdb_unregister_extension_class(library, &class);
    free_name(&class);
    wd_shutdown();
}

/* builtin returns a method of a type. Its hash stands for the method's parameters and result. */
static GDExtensionPtrBuiltInMethod builtin(int type, const char *method, GDExtensionInt hash) {
    gd_name name = name_of(method);
    GDExtensionPtrBuiltInMethod found = godot.variant_get_ptr_builtin_method((GDExtensionVariantType)type, &name, hash);
    free_name(&name);
    return found;
}

GD_EXPORT GDExtensionBool worldd_godot_init(GDExtensionInterfaceGetProcAddress get, GDExtensionClassLibraryPtr library, GDExtensionInitialization *extension);

GDExtensionBool worldd_godot_init(GDExtensionInterfaceGetProcAddress get, GDExtensionClassLibraryPtr library, GDExtensionInitialization *extension) {
    static const int types[] = {INT, FLOAT, STRING, NAME, DICTIONARY, ARRAY, BYTES, INTS, FLOATS};
#define GET(type, name) \
    if (!(godot.name = (GDExtensionInterface##type)(void (*)(void))get(#name))) return false;
    FUNCTIONS(GET)
#undef GET
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        int type = types[i];
        godot.from[type] = godot.get_variant_from_type_constructor((GDExtensionVariantType)type);
        godot.to[type] = godot.get_variant_to_type_constructor((GDExtensionVariantType)type);
        if (type == INT || type == FLOAT) continue; /* without constructors */
        godot.create[type] = godot.variant_get_ptr_constructor((GDExtensionVariantType)type, 0);
        godot.destroy[type] = godot.variant_get_ptr_destructor((GDExtensionVariantType)type);
        if (type < ARRAY) continue;
        godot.size[type] = builtin(type, "size", 3173160232);
        godot.resize[type] = builtin(type, "resize", 848867239);
        if (!godot.size[type] || !godot.resize[type]) return false;
    }
    *extension = (GDExtensionInitialization){GDEXTENSION_INITIALIZATION_SCENE, library, initialize, deinitialize};
    return true;
}
