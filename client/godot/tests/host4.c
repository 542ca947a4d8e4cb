/* A host for worldd_godot4.c without Godot: the part of GDExtension's interface that it uses, and a program that plays the session of
 * client/c/engines through the registered class, and prints what it sees, one line each. Values are copied whole, so that sanitizers
 * see whatever the class forgets to destroy. */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gdextension_interface.h"
#include "plot.h" /* generated */
#include "worldd.h"

static void check(bool so, const char *what) {
    if (so) return;
    fprintf(stderr, "not so: %s\n", what);
    exit(1);
}

/* Values. */

typedef struct blob { /* the contents of every type but numbers and objects */
    size_t count;
    unsigned char *bytes;
} blob;

typedef struct variant { /* as large as Godot's */
    int64_t type;
    union {
        int64_t i;
        double r;
        blob *b;
        void *object;
    };
    int64_t unused;
} variant;

typedef struct pair { /* of a dictionary */
    blob *key;
    variant value;
} pair;

enum {
    NIL = GDEXTENSION_VARIANT_TYPE_NIL,
    INT = GDEXTENSION_VARIANT_TYPE_INT,
    FLOAT = GDEXTENSION_VARIANT_TYPE_FLOAT,
    STRING = GDEXTENSION_VARIANT_TYPE_STRING,
    NAME = GDEXTENSION_VARIANT_TYPE_STRING_NAME,
    OBJECT = GDEXTENSION_VARIANT_TYPE_OBJECT,
    DICTIONARY = GDEXTENSION_VARIANT_TYPE_DICTIONARY,
    ARRAY = GDEXTENSION_VARIANT_TYPE_ARRAY,
    BYTES = GDEXTENSION_VARIANT_TYPE_PACKED_BYTE_ARRAY,
    INTS = GDEXTENSION_VARIANT_TYPE_PACKED_INT64_ARRAY,
    FLOATS = GDEXTENSION_VARIANT_TYPE_PACKED_FLOAT32_ARRAY
};

static bool has_blob(int64_t type) { return type != NIL && type != INT && type != FLOAT && type != OBJECT; }

static size_t element(int64_t type) {
    switch (type) {
    case DICTIONARY: return sizeof(pair);
    case ARRAY: return sizeof(variant);
    case INTS: return sizeof(int64_t);
    case FLOATS: return sizeof(float);
    default: return 1;
    }
}


static blob *new_blob(int64_t type, const void *from, size_t count);

static variant clone(const variant *v) {
    variant copy = *v;
    if (has_blob(v->type)) copy.b = new_blob(v->type, v->b->bytes, v->b->count);
    return copy;
}

/* new_blob copies elements, or makes them zero. */
static blob *new_blob(int64_t type, const void *from, size_t count) {
    blob *b = calloc(1, sizeof *b);
    b->count = count;
    b->bytes = calloc(count + 1, element(type));
    if (from) memcpy(b->bytes, from, count * element(type));
    for (size_t i = 0; i < count && type == ARRAY; i++) ((variant *)(void *)b->bytes)[i] = clone((variant *)(void *)b->bytes + i);
    for (size_t i = 0; i < count && type == DICTIONARY; i++) {
        pair *p = (pair *)(void *)b->bytes + i;
        *p = (pair){new_blob(STRING, p->key->bytes, p->key->count), clone(&p->value)};
    }
    return b;
}

static void free_blob(int64_t type, blob *b);

static void drop(variant *v) {
    if (has_blob(v->type)) free_blob(v->type, v->b);
}

static void free_blob(int64_t type, blob *b) {
    for (size_t i = 0; i < b->count && type == ARRAY; i++) drop((variant *)(void *)b->bytes + i);
    for (size_t i = 0; i < b->count && type == DICTIONARY; i++) {
        pair *p = (pair *)(void *)b->bytes + i;
        free_blob(STRING, p->key);
        drop(&p->value);
    }
    free(b->bytes);
    free(b);
}

static variant of_blob(int64_t type, const void *from, size_t count) { return (variant){.type = type, .b = new_blob(type, from, count)}; }
static variant of_int(int64_t i) { return (variant){.type = INT, .i = i}; }
static variant of_text(const char *s) { return of_blob(STRING, s, strlen(s)); }

static bool is_text(const blob *b, const char *s) { return b->count == strlen(s) && memcmp(b->bytes, s, b->count) == 0; }

/* The interface. A value of another type than a number is a pointer to its blob. */

static void variant_new_nil(GDExtensionUninitializedVariantPtr v) { *(variant *)v = (variant){.type = NIL}; }
static void variant_new_copy(GDExtensionUninitializedVariantPtr to, GDExtensionConstVariantPtr from) { *(variant *)to = clone(from); }
static void variant_destroy(GDExtensionVariantPtr v) { drop(v); }

/* convert makes a value of a type from a variant: of its own type, a number, a name, or integers from an array. */
static void convert(int64_t type, void *to, const variant *v) {
    if (type == INT) {
        *(int64_t *)to = v->type == FLOAT ? (int64_t)v->r : v->type == INT ? v->i : 0;
    } else if (type == FLOAT) {
        *(double *)to = v->type == FLOAT ? v->r : v->type == INT ? (double)v->i : 0;
    } else if (type == INTS && v->type == ARRAY) {
        blob *b = *(blob **)to = new_blob(INTS, NULL, v->b->count);
        for (size_t i = 0; i < b->count; i++) convert(INT, (int64_t *)(void *)b->bytes + i, (variant *)(void *)v->b->bytes + i);
    } else {
        bool same = v->type == type || (type == NAME && v->type == STRING);
        *(blob **)to = new_blob(type, same ? v->b->bytes : NULL, same ? v->b->count : 0);
    }
}

static void wrap(int64_t type, variant *v, const void *value) {
    *v = (variant){.type = type};
    if (has_blob(type)) {
        v->b = new_blob(type, (*(blob *const *)value)->bytes, (*(blob *const *)value)->count);
    } else {
        memcpy(&v->i, value, sizeof v->i);
    }
}

/* Each type has functions without an argument for the type. */
#define TYPES(F) F(INT) F(FLOAT) F(STRING) F(NAME) F(DICTIONARY) F(ARRAY) F(BYTES) F(INTS) F(FLOATS)
#define FUNCTIONS_OF(type) \
    static void from_##type(GDExtensionUninitializedVariantPtr v, GDExtensionTypePtr value) { wrap(type, v, value); } \
    static void to_##type(GDExtensionUninitializedTypePtr value, GDExtensionVariantPtr v) { convert(type, value, v); } \
    static void create_##type(GDExtensionUninitializedTypePtr value, const GDExtensionConstTypePtr *args) { \
        check(!args, "no arguments"); \
        *(blob **)value = new_blob(type, NULL, 0); \
    } \
    static void destroy_##type(GDExtensionTypePtr value) { free_blob(type, *(blob **)value); } \
    static void resize_##type(GDExtensionTypePtr value, const GDExtensionConstTypePtr *args, GDExtensionTypePtr returned, int32_t count) { \
        check(count == 1, "one argument"); \
        free_blob(type, *(blob **)value); \
        *(blob **)value = new_blob(type, NULL, (size_t)*(const int64_t *)args[0]); \
        *(int64_t *)returned = 0; \
    }
TYPES(FUNCTIONS_OF)

static void size(GDExtensionTypePtr value, const GDExtensionConstTypePtr *args, GDExtensionTypePtr returned, int32_t count) {
    check(count == 0 && !args, "no arguments");
    *(int64_t *)returned = (int64_t)(*(blob **)value)->count;
}

#define CASE(name, type) \
    case type: return name##_##type;
#define BY_TYPE(function, result, name) \
    static result function(GDExtensionVariantType type) { \
        switch ((int)type) { TYPES(CASE_##name) } \
        return NULL; \
    }
#define CASE_from(type) CASE(from, type)
#define CASE_to(type) CASE(to, type)
#define CASE_create(type) CASE(create, type)
#define CASE_destroy(type) CASE(destroy, type)
#define CASE_resize(type) CASE(resize, type)
BY_TYPE(get_variant_from_type_constructor, GDExtensionVariantFromTypeConstructorFunc, from)
BY_TYPE(get_variant_to_type_constructor, GDExtensionTypeFromVariantConstructorFunc, to)
BY_TYPE(create_of, GDExtensionPtrConstructor, create)
BY_TYPE(variant_get_ptr_destructor, GDExtensionPtrDestructor, destroy)
BY_TYPE(resize_of, GDExtensionPtrBuiltInMethod, resize)

static GDExtensionPtrConstructor variant_get_ptr_constructor(GDExtensionVariantType type, int32_t number) { return number == 0 ? create_of(type) : NULL; }

static GDExtensionPtrBuiltInMethod variant_get_ptr_builtin_method(GDExtensionVariantType type, GDExtensionConstStringNamePtr name, GDExtensionInt hash) {
    const blob *b = *(blob *const *)name;
    if (is_text(b, "size") && hash == 3173160232) return size;
    return is_text(b, "resize") && hash == 848867239 ? resize_of(type) : NULL;
}

static void string_new_with_utf8_chars(GDExtensionUninitializedStringPtr s, const char *text) { *(blob **)s = new_blob(STRING, text, strlen(text)); }
static void string_name_new_with_utf8_chars(GDExtensionUninitializedStringNamePtr s, const char *text) { string_new_with_utf8_chars(s, text); }

static GDExtensionInt string_to_utf8_chars(GDExtensionConstStringPtr s, char *to, GDExtensionInt most) {
    const blob *b = *(blob *const *)s;
    if (to) memcpy(to, b->bytes, (size_t)most < b->count ? (size_t)most : b->count);
    return (GDExtensionInt)b->count;
}

static void *at(int64_t type, const void *value, GDExtensionInt i) {
    const blob *b = *(blob *const *)value;
    check(i >= 0 && (size_t)i < b->count, "an index is in its array");
    return b->bytes + (size_t)i * element(type);
}

static uint8_t *packed_byte_array_operator_index(GDExtensionTypePtr a, GDExtensionInt i) { return at(BYTES, a, i); }
static const uint8_t *packed_byte_array_operator_index_const(GDExtensionConstTypePtr a, GDExtensionInt i) { return at(BYTES, a, i); }
static int64_t *packed_int64_array_operator_index(GDExtensionTypePtr a, GDExtensionInt i) { return at(INTS, a, i); }
static const int64_t *packed_int64_array_operator_index_const(GDExtensionConstTypePtr a, GDExtensionInt i) { return at(INTS, a, i); }
static float *packed_float32_array_operator_index(GDExtensionTypePtr a, GDExtensionInt i) { return at(FLOATS, a, i); }
static GDExtensionVariantPtr array_operator_index_const(GDExtensionConstTypePtr a, GDExtensionInt i) { return at(ARRAY, a, i); }

static GDExtensionVariantPtr dictionary_operator_index(GDExtensionTypePtr d, GDExtensionConstVariantPtr key) {
    blob *b = *(blob **)d;
    const blob *k = ((const variant *)key)->b;
    b->bytes = realloc(b->bytes, (b->count + 1) * sizeof(pair));
    pair *p = (pair *)(void *)b->bytes + b->count++;
    *p = (pair){new_blob(STRING, k->bytes, k->count), {.type = NIL}};
    return &p->value;
}

/* The object that the session predicts with, and its method `walk`: a body that its input moves, and then a number of its own. */
typedef struct walk {
    plot_body body;
    uint64_t steps;
} walk;

static int64_t lookup(int64_t handle);
static int walker_refused;

static GDExtensionBool variant_has_method(GDExtensionConstVariantPtr v, GDExtensionConstStringNamePtr name) {
    return ((const variant *)v)->object == &walker_refused && is_text(*(blob *const *)name, "walk");
}

static void variant_call(GDExtensionVariantPtr v, GDExtensionConstStringNamePtr name, const GDExtensionConstVariantPtr *args, GDExtensionInt count,
                         GDExtensionUninitializedVariantPtr returned, GDExtensionCallError *error) {
    const variant *state = args[0], *input = args[1], *tick = args[2];
    walk w;
    plot_input held;
    check(variant_has_method(v, name) && count == 3 && state->b->count == sizeof w && input->b->count == sizeof held, "the step function's arguments");
    memcpy(&w, state->b->bytes, sizeof w);
    memcpy(&held, input->b->bytes, sizeof held);
    walker_refused += lookup(1) == WD_BUSY;
    w.steps++;
    w.body.Velocity[0] = held.X;
    w.body.Velocity[2] = held.Z;
    w.body.Position[0] += held.X / 60;
    w.body.Position[2] += held.Z / 60;
    variant all[] = {of_blob(BYTES, &w, sizeof w), of_int(7)};
    *(variant *)returned = of_blob(ARRAY, all, tick->i % 16 == 0 ? 2 : 1);
    drop(&all[0]);
    error->error = GDEXTENSION_CALL_OK;
}

/* Classes: there is one. */
static GDExtensionClassCreationInfo2 class;
static struct method {
    char name[32];
    GDExtensionClassMethodInfo info;
} methods[64];
static int method_count;
static GDExtensionClassInstancePtr client;
static int registered, object; /* stands for a class library, and for an object */

static void classdb_register_extension_class2(GDExtensionClassLibraryPtr library, GDExtensionConstStringNamePtr name, GDExtensionConstStringNamePtr parent,
                                              const GDExtensionClassCreationInfo2 *info) {
    check(library == &registered && is_text(*(blob *const *)name, "WorlddClient") && is_text(*(blob *const *)parent, "RefCounted"), "the class");
    class = *info;
    registered++;
}

static void classdb_register_extension_class_method(GDExtensionClassLibraryPtr library, GDExtensionConstStringNamePtr name, const GDExtensionClassMethodInfo *info) {
    const blob *b = *(blob **)info->name;
    check(library == &registered && is_text(*(blob *const *)name, "WorlddClient") && info->method_flags & GDEXTENSION_METHOD_FLAG_VARARG, "a method");
    check((*(blob **)info->return_value_info->class_name)->count == 0 && (*(blob **)info->return_value_info->hint_string)->count == 0, "what it returns");
    methods[method_count].info = *info;
    memcpy(methods[method_count++].name, b->bytes, b->count);
}

static void classdb_unregister_extension_class(GDExtensionClassLibraryPtr library, GDExtensionConstStringNamePtr name) {
    check(library == &registered && is_text(*(blob *const *)name, "WorlddClient"), "the class");
    registered--;
}

static GDExtensionObjectPtr classdb_construct_object(GDExtensionConstStringNamePtr name) {
    return is_text(*(blob *const *)name, "RefCounted") ? &object : NULL;
}

static void object_set_instance(GDExtensionObjectPtr o, GDExtensionConstStringNamePtr name, GDExtensionClassInstancePtr self) {
    check(o == &object && is_text(*(blob *const *)name, "WorlddClient"), "the class");
    client = self;
}

static const char *missing; /* of the interface, as in an older Godot */

static GDExtensionInterfaceFunctionPtr get_proc_address(const char *name) {
#define HAVE(type, function) \
    if (strcmp(name, #function) == 0 && !(missing && strcmp(name, missing) == 0)) { \
        GDExtensionInterface##type f = function; \
        return (GDExtensionInterfaceFunctionPtr)(void (*)(void))f; \
    }
    HAVE(VariantNewNil, variant_new_nil)
    HAVE(VariantNewCopy, variant_new_copy)
    HAVE(VariantDestroy, variant_destroy)
    HAVE(VariantCall, variant_call)
    HAVE(VariantHasMethod, variant_has_method)
    HAVE(GetVariantFromTypeConstructor, get_variant_from_type_constructor)
    HAVE(GetVariantToTypeConstructor, get_variant_to_type_constructor)
    HAVE(VariantGetPtrConstructor, variant_get_ptr_constructor)
    HAVE(VariantGetPtrDestructor, variant_get_ptr_destructor)
    HAVE(VariantGetPtrBuiltinMethod, variant_get_ptr_builtin_method)
    HAVE(StringNewWithUtf8Chars, string_new_with_utf8_chars)
    HAVE(StringToUtf8Chars, string_to_utf8_chars)
    HAVE(StringNameNewWithUtf8Chars, string_name_new_with_utf8_chars)
    HAVE(PackedByteArrayOperatorIndex, packed_byte_array_operator_index)
    HAVE(PackedByteArrayOperatorIndexConst, packed_byte_array_operator_index_const)
    HAVE(PackedInt64ArrayOperatorIndex, packed_int64_array_operator_index)
    HAVE(PackedInt64ArrayOperatorIndexConst, packed_int64_array_operator_index_const)
    HAVE(PackedFloat32ArrayOperatorIndex, packed_float32_array_operator_index)
    HAVE(ArrayOperatorIndexConst, array_operator_index_const)
    HAVE(DictionaryOperatorIndex, dictionary_operator_index)
    HAVE(ClassdbConstructObject, classdb_construct_object)
    HAVE(ObjectSetInstance, object_set_instance)
    HAVE(ClassdbRegisterExtensionClass2, classdb_register_extension_class2)
    HAVE(ClassdbRegisterExtensionClassMethod, classdb_register_extension_class_method)
    HAVE(ClassdbUnregisterExtensionClass, classdb_unregister_extension_class)
    return NULL;
}

/* A script's calls. invoke destroys its arguments. */
static variant invoke(const char *name, int count, variant *args, int error) {
    const GDExtensionConstVariantPtr pointers[6] = {args, args + 1, args + 2, args + 3, args + 4, args + 5};
    variant returned = {.type = NIL};
    GDExtensionCallError e = {GDEXTENSION_CALL_OK, 0, 0};
    struct method *m = methods;
    while (m < methods + method_count && strcmp(m->name, name) != 0) m++;
    check(m < methods + method_count, name);
    m->info.call_func(m->info.method_userdata, client, pointers, count, &returned, &e);
    for (int i = 0; i < count; i++) drop(&args[i]);
    check((int)e.error == error, name);
    return returned;
}

#define CALL(name, ...) invoke(name, sizeof((variant[]){__VA_ARGS__}) / sizeof(variant), (variant[6]){__VA_ARGS__}, 0)
#define CALL0(name) invoke(name, 0, (variant[6]){{.type = NIL}}, 0)

static int64_t number(variant v) {
    check(v.type == INT, "a number");
    return v.i;
}

static int64_t lookup(int64_t handle) { return number(CALL("lookup", of_int(handle))); }

static const variant *member(const variant *dictionary, const char *key) {
    check(dictionary->type == DICTIONARY, key);
    for (size_t i = 0; i < dictionary->b->count; i++) {
        pair *p = (pair *)(void *)dictionary->b->bytes + i;
        if (is_text(p->key, key)) return &p->value;
    }
    check(false, key);
    return NULL;
}

/* get returns a number of a dictionary that a method returns, or -1 for null. */
static int64_t get(const char *method, const char *key) {
    variant d = CALL0(method);
    int64_t n = d.type == NIL ? -1 : number(*member(&d, key));
    drop(&d);
    return n;
}

static void body_of(const variant *event, void *to, size_t size_of_body) {
    const variant *b = member(event, "body");
    check(b->type == BYTES && b->b->count == size_of_body, "a body");
    memcpy(to, b->b->bytes, size_of_body);
}

static const char *const verdicts[] = {"Pending", "Live", "Hidden", "Stale", "Provisional"};

static unsigned bits(float v) {
    unsigned u;
    memcpy(&u, &v, sizeof u);
    return u;
}

/* print reads all entities in bulk: one field, and whole records. It returns the lowest handle of a stone. */
static int64_t print(const variant *handles) {
    int64_t lowest = INT64_MAX;
    variant positions = CALL("read_floats", of_int(PLOT_COMPONENT_BODY), of_int(PLOT_BODY_FIELD_POSITION), of_int(WD_NEWEST), clone(handles));
    variant records = CALL("read_records", of_int(PLOT_COMPONENT_SIGN), of_int(WD_NEWEST), clone(handles), of_int(sizeof(plot_sign)));
    check(positions.type == FLOATS && positions.b->count == 3 * handles->b->count && records.b->count == sizeof(plot_sign) * handles->b->count, "bulk reads");
    for (size_t i = 0; i < handles->b->count; i++) {
        const float *p = (float *)(void *)positions.b->bytes + 3 * i;
        int64_t h = ((int64_t *)(void *)handles->b->bytes)[i];
        plot_sign s;
        memcpy(&s, records.b->bytes + i * sizeof s, sizeof s);
        if (!s.Label[0]) continue; /* a player */
        if (h < lowest) lowest = h;
        printf("row %016llx %08x %08x %08x %d %016llx %d %d %08x %s ", (unsigned long long)h, bits(p[0]), bits(p[1]), bits(p[2]), s.Rank, (unsigned long long)s.Friend,
               s.Lit, s.Marks[2], bits(s.Facing[3]), s.Label);
        for (unsigned b = 0; b < s.Data_size; b++) printf("%s%02X", b ? "-" : "", s.Data[b]);
        printf("\n");
    }
    drop(&positions);
    drop(&records);
    return lowest;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int64_t victim, asked, seed, planted;
static bool answered, destroyed, struck, effect;

static void take(const variant *e) {
    int64_t type = number(*member(e, "type")), event = number(*member(e, "number"));
    if (type == WD_EVENT_EFFECT) effect = event == 7 && number(*member(e, "tick")) % 16 == 0;
    if (type == WD_EVENT_DESTROY && number(*member(e, "handle")) == victim) destroyed = number(*member(e, "reason")) == 3;
    if (type == WD_EVENT_MESSAGE && event == PLOT_EVENT_BELL) {
        plot_bell_event bell;
        body_of(e, &bell, sizeof bell);
        struck = strcmp(bell.Word, "gone") == 0;
    }
    if (type == WD_EVENT_RESULT && number(*member(e, "id")) == asked) {
        plot_break_answer answer;
        body_of(e, &answer, sizeof answer);
        printf("answer %d verdict %s %s\n", (int)number(*member(e, "code")), verdicts[number(*member(e, "verdict"))], answer.Words);
        answered = true;
        unsigned char plant[9] = {0xcf}; /* msgpack: 64 bits, the highest first */
        seed = number(CALL0("take_provisional"));
        for (int i = 0; i < 8; i++) plant[i + 1] = (unsigned char)((uint64_t)seed >> (56 - 8 * i));
        variant handles[] = {of_int(victim), of_int(seed)};
        check(number(CALL("send_raw", of_int(PLOT_COMMAND_PLANT), of_int(0), of_blob(BYTES, plant, sizeof plant), of_blob(ARRAY, handles, 1))) == WD_REFUSED,
              "another handle than a provisional one");
        planted = number(CALL("send_raw", of_int(PLOT_COMMAND_PLANT), of_int(0), of_blob(BYTES, plant, sizeof plant), of_blob(ARRAY, handles + 1, 1)));
    } else if (type == WD_EVENT_RESULT && planted > 0 && number(*member(e, "id")) == planted) {
        int64_t real = number(CALL("real", of_int(seed)));
        check(real != 0 && real != seed, "the handle of the seed");
        printf("planted %d Live\n", (int)number(*member(e, "code")));
    }
}

static variant predict(size_t state_size, const char *method) {
    const variant body[] = {of_int(PLOT_COMPONENT_BODY)};
    return CALL("predict", of_blob(ARRAY, body, 1), of_int((int64_t)state_size), of_int(sizeof(plot_input)), {.type = OBJECT, .object = &walker_refused}, of_text(method),
                {.type = FLOAT, .r = 0});
}

static void play(void) {
    int64_t held = 0;
    double began = now();
    while (!(answered && destroyed && struck && planted > 0 && lookup(seed) == WD_LIVE && effect && get("prediction", "agreed") >= 20 && held > 0 && get("status", "applied_input") >= held)) {
        plot_input stick = {.X = 1};
        check(now() - began < 60, "in time");
        int64_t tick = number(CALL("set_input", of_blob(BYTES, &stick, sizeof stick)));
        if (held == 0 && tick > 0) held = tick;
        check(number(CALL("update", {.type = FLOAT, .r = now()})) == WD_OK, "update");
        variant e = CALL0("poll");
        for (; e.type != NIL; e = CALL0("poll")) {
            take(&e);
            drop(&e);
        }
        variant rendered = CALL0("render"), handles = CALL0("entities");
        if (asked == 0 && rendered.type == FLOAT && handles.type == INTS && handles.b->count == 42) {
            plot_break_args who = {.Name = "Zoë"};
            victim = print(&handles);
            asked = number(CALL("send", of_int(PLOT_COMMAND_BREAK), of_int(victim), of_blob(BYTES, &who, sizeof who)));
            printf("victim %016llx %s\n", (unsigned long long)victim, verdicts[lookup(victim)]);
        }
        drop(&handles);
        nanosleep(&(struct timespec){0, 4000000}, NULL);
    }
    variant drawn = CALL("read_predicted", of_int(WD_RENDERED));
    walk w;
    check(drawn.type == BYTES && drawn.b->count == sizeof w, "a predicted state");
    memcpy(&w, drawn.b->bytes, sizeof w);
    check(w.body.Position[0] > 0 && w.steps > 0 && walker_refused > 0, "the predicted state");
    drop(&drawn);
    printf("predicted %d agreed %d corrected %d missed\n", (int)get("prediction", "agreed"), (int)get("prediction", "corrected"), (int)get("prediction", "missed"));
    printf("stale %016llx %s controlled %s\n", (unsigned long long)victim, verdicts[lookup(victim)], verdicts[lookup(get("status", "controlled"))]);
}

int main(int argc, char **argv) {
    GDExtensionInitialization extension;
    check(argc == 4, "three arguments: the extension, an address and a fingerprint");
    void *library = dlopen(argv[1], RTLD_NOW);
    if (!library) fprintf(stderr, "%s\n", dlerror());
    check(library, "the extension loads");
    GDExtensionInitializationFunction init;
    *(void **)&init = dlsym(library, "worldd_godot_init");
    missing = "classdb_unregister_extension_class";
    check(init && !init(get_proc_address, &registered, &extension), "a Godot without a function is refused");
    missing = NULL;
    check(init(get_proc_address, &registered, &extension), "the extension begins");
    for (int level = 0; level < GDEXTENSION_MAX_INITIALIZATION_LEVEL; level++)
        if (level >= (int)extension.minimum_initialization_level) extension.initialize(extension.userdata, (GDExtensionInitializationLevel)level);
    check(registered == 1 && class.create_instance_func(class.class_userdata) == &object && client, "an instance");

    variant none[6] = {{.type = NIL}}, error;
    check(number(CALL("connect_to", of_text("nowhere"), of_text(""), of_text(""), of_text("godot4"))) == WD_BAD_ARGUMENT, "a mistake");
    error = CALL("text", {.type = FLOAT, .r = WD_TEXT_ERROR});
    check(error.type == STRING && strstr((char *)error.b->bytes, "nowhere"), "the mistake's text");
    drop(&error);
    invoke("update", 0, none, GDEXTENSION_CALL_ERROR_TOO_FEW_ARGUMENTS);
    invoke("render", 1, none, GDEXTENSION_CALL_ERROR_TOO_MANY_ARGUMENTS);
    check(number(CALL("connect_to", of_text(argv[2]), of_text(argv[3]), of_text(plot_schema), of_text("godot4"))) == WD_OK, "connected");
    check(number(predict(3, "walk")) == WD_BAD_SIZE && number(predict(sizeof(walk), "run")) == WD_BAD_ARGUMENT, "mistakes");
    check(number(predict(sizeof(walk), "walk")) == WD_OK && number(predict(sizeof(walk), "walk")) == WD_REFUSED, "predicted once");
    play();

    class.free_instance_func(class.class_userdata, client);
    for (int level = GDEXTENSION_MAX_INITIALIZATION_LEVEL - 1; level >= 0; level--) extension.deinitialize(extension.userdata, (GDExtensionInitializationLevel)level);
    check(registered == 0, "the class is gone");
    printf("end\n");
}
