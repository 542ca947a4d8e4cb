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

typedef struct instance {
    wd_client client;
    char error[512]; /* why connect_to failed */
    unsigned char *body;
    size_t body_room;
    bool predicts; /* then the members below are set */
    gd_variant stepper;
    gd_value step;
    size_t state_size, input_size;
} instance;

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

/* Methods. */

static void forget_stepper(instance *self) {
    if (!self->predicts) return;
    GD(GD_VARIANT_DESTROY, void, gd_variant *)(&self->stepper);
    GD(GD_STRING_DESTROY, void, gd_value *)(&self->step);
    self->predicts = false;
}

static gd_variant connect_to(instance *self, gd_variant **args) {
    char *texts[4];
    wd_client_def def = wd_default_client_def();
    if (wd_destroy_client(self->client) == WD_BUSY) return of_int(WD_BUSY); /* inside the step function */
    forget_stepper(self);
    for (int i = 0; i < 4; i++) texts[i] = to_text(args[i]);
    def.address = texts[0];
    def.fingerprint = texts[1] && texts[1][0] ? texts[1] : NULL;
    def.schema = texts[2] && texts[2][0] ? texts[2] : NULL;
    def.name = texts[3];
    wd_result r = wd_create_client(&def, &self->client, self->error, sizeof self->error);
    for (int i = 0; i < 4; i++) free(texts[i]);
    return of_int(r);
}

static gd_variant update(instance *self, gd_variant **args) {
    return of_int(wd_update(self->client, GD(GD_VARIANT_AS_REAL, double, const gd_variant *)(args[0])));
}

static gd_variant status(instance *self, gd_variant **args) {
    gd_value d;
    wd_status s = {.size = sizeof s};
    (void)args;
    if (wd_get_status(self->client, &s) != WD_OK) return nil();
    GD(GD_DICTIONARY_NEW, void, gd_value *)(&d);
    put(&d, "state", of_int(s.state));
    put(&d, "code", of_int(s.code));
    put(&d, "tick", of_int(s.tick));
    put(&d, "tick_hz", of_int(s.tick_hz));
    put(&d, "entities", of_int(s.entities));
    put(&d, "applied_input", of_int(s.applied_input));
    put(&d, "controlled", of_int((int64_t)s.controlled));
    put(&d, "round_trip", of_real(s.round_trip));
    return finish(&d);
}

static gd_variant text(instance *self, gd_variant **args) {
    char buffer[1024];
    if (!self->client.id) return of_text(self->error);
    wd_text(self->client, (int32_t)to_int(args[0]), buffer, sizeof buffer);
    return of_text(buffer);
}

static gd_variant poll_event(instance *self, gd_variant **args) {
    gd_value d;
    wd_event e = {.size = sizeof e};
    (void)args;
    if (!self->body) self->body = malloc(self->body_room = 1024);
    if (!self->body) return nil();
    wd_result r = wd_poll_event(self->client, &e, self->body, self->body_room);
    if (r == WD_BAD_SIZE && e.body_size > self->body_room) {
        unsigned char *larger = realloc(self->body, (size_t)e.body_size);
        if (!larger) return nil();
        self->body = larger;
        self->body_room = (size_t)e.body_size;
        r = wd_poll_event(self->client, &e, self->body, self->body_room);
    }
    if (r != WD_OK) return nil();
    GD(GD_DICTIONARY_NEW, void, gd_value *)(&d);
    put(&d, "type", of_int(e.type));
    put(&d, "tick", of_int(e.tick));
    put(&d, "number", of_int(e.number));
    put(&d, "handle", of_int((int64_t)e.handle));
    put(&d, "id", of_int(e.id));
    put(&d, "code", of_int(e.code));
    put(&d, "verdict", of_int(e.verdict));
    put(&d, "state", of_int(e.state));
    put(&d, "reason", of_int(e.reason));
    put(&d, "flags", of_int(e.flags));
    put(&d, "body", of_bytes(self->body, (size_t)e.body_size));
    return finish(&d);
}

static gd_variant render(instance *self, gd_variant **args) {
    double tick = 0;
    (void)args;
    return wd_render(self->client, &tick) == WD_OK ? of_real(tick) : nil();
}

static gd_variant lookup(instance *self, gd_variant **args) { return of_int(wd_lookup(self->client, (wd_handle)to_int(args[0]))); }

static gd_variant entities(instance *self, gd_variant **args) {
    size_t n = 0;
    (void)args;
    if (wd_entities(self->client, NULL, 0, &n) != WD_OK) return nil();
    wd_handle *handles = malloc((n + 1) * sizeof *handles);
    gd_variant v = handles && wd_entities(self->client, handles, n, &n) == WD_OK ? of_handles(handles, n) : nil();
    free(handles);
    return v;
}

static gd_variant kind(instance *self, gd_variant **args) {
    wd_entity e = {.size = sizeof e};
    return wd_get_entity(self->client, (wd_handle)to_int(args[0]), &e) == WD_OK ? of_int(e.kind) : of_int(-1);
}

/* read_floats reads one field of entities: component, field, when, handles. */
static gd_variant read_floats(instance *self, gd_variant **args) {
    size_t n = 0;
    wd_field f = {.size = sizeof f};
    uint32_t component = (uint32_t)to_int(args[0]), field = (uint32_t)to_int(args[1]);
    if (wd_get_field(self->client, component, field, &f) != WD_OK) return nil();
    wd_handle *handles = to_handles(args[3], &n);
    float *floats = malloc((n * f.count + 1) * sizeof *floats);
    gd_variant v = handles && floats && wd_read_f32(self->client, component, field, (int32_t)to_int(args[2]), handles, n, floats, NULL) == WD_OK
                       ? of_reals(floats, n * f.count)
                       : nil();
    free(floats);
    free(handles);
    return v;
}

/* read_records reads a component of entities: component, when, handles, the record's size. */
static gd_variant read_records(instance *self, gd_variant **args) {
    size_t n = 0;
    int64_t size = to_int(args[3]);
    if (size < 1 || size > 1 << 20) return nil();
    wd_handle *handles = to_handles(args[2], &n);
    unsigned char *records = malloc(n * (size_t)size + 1);
    gd_variant v = handles && records && n * (size_t)size < INT32_MAX &&
                           wd_read_records(self->client, (uint32_t)to_int(args[0]), (int32_t)to_int(args[1]), handles, n, records, (size_t)size, NULL) == WD_OK
                       ? of_bytes(records, n * (size_t)size)
                       : nil();
    free(records);
    free(handles);
    return v;
}

/* do_command sends a command, its target and its arguments' record, and returns its number, or an error below 0. */
static gd_variant do_command(instance *self, gd_variant **args) {
    size_t size;
    uint32_t id = 0;
    void *record = to_bytes(args[2], &size);
    wd_result r = wd_do(self->client, (uint32_t)to_int(args[0]), (wd_handle)to_int(args[1]), record, size, &id);
    free(record);
    return of_int(r < 0 ? r : (int64_t)id);
}

static gd_variant set_input(instance *self, gd_variant **args) {
    size_t size;
    uint32_t tick = 0;
    void *record = to_bytes(args[0], &size);
    wd_result r = wd_set_input(self->client, record, size, &tick);
    free(record);
    return of_int(r < 0 ? r : (int64_t)tick);
}

/* step calls the script's step function. What it returns is the state, then the keys of effects. */
static void step(wd_step *call) {
    instance *self = call->user;
    int error[3]; /* a code, an argument, and the type that it should have */
    size_t n = 0;
    gd_variant state = of_bytes(call->state, self->state_size), input = of_bytes(call->input, self->input_size), tick = of_int(call->tick);
    const gd_variant *args[] = {&state, &input, &tick};
    gd_variant returned = GD(GD_VARIANT_CALL, gd_variant, gd_variant *, const gd_value *, const gd_variant **, int, int *)(&self->stepper, &self->step, args, 3, error);
    gd_value all = GD(GD_VARIANT_AS_ARRAY, gd_value, const gd_variant *)(&returned);
    int count = GD(GD_ARRAY_SIZE, int, const gd_value *)(&all);
    for (int i = 0; i < count && i <= WD_MAX_EFFECTS; i++) {
        gd_variant v = GD(GD_ARRAY_GET, gd_variant, const gd_value *, int)(&all, i);
        void *bytes = i == 0 ? to_bytes(&v, &n) : NULL;
        if (bytes && n == self->state_size) memcpy(call->state, bytes, n);
        if (i > 0) call->effects[call->effect_count++] = (uint32_t)to_int(&v);
        free(bytes);
        GD(GD_VARIANT_DESTROY, void, gd_variant *)(&v);
    }
    GD(GD_ARRAY_DESTROY, void, gd_value *)(&all);
    gd_variant *used[] = {&returned, &state, &input, &tick};
    for (int i = 0; i < 4; i++) GD(GD_VARIANT_DESTROY, void, gd_variant *)(used[i]);
}

/* predict predicts by a method of an object: components, the state's size, the input's size, the object, the method's name, snap. */
static gd_variant predict(instance *self, gd_variant **args) {
    enum { MOST = 32 };
    uint32_t components[MOST];
    size_t n = 0;
    if (self->predicts) return of_int(WD_REFUSED);
    wd_handle *numbers = to_handles(args[0], &n);
    for (size_t i = 0; numbers && i < n && i < MOST; i++) components[i] = (uint32_t)numbers[i];
    free(numbers);
    self->step = GD(GD_VARIANT_AS_STRING, gd_value, const gd_variant *)(args[4]);
    GD(GD_VARIANT_NEW_COPY, void, gd_variant *, const gd_variant *)(&self->stepper, args[3]);
    self->predicts = true;
    self->state_size = (size_t)to_int(args[1]);
    self->input_size = (size_t)to_int(args[2]);
    wd_prediction_def def = {.size = sizeof def, .component_count = (uint32_t)n, .components = components, .state_size = self->state_size, .step = step,
                             .user = self, .snap = GD(GD_VARIANT_AS_REAL, double, const gd_variant *)(args[5])};
    wd_result r = WD_BAD_ARGUMENT;
    if (n <= MOST && GD(GD_VARIANT_HAS_METHOD, bool, const gd_variant *, const gd_value *)(&self->stepper, &self->step)) r = wd_predict(self->client, &def);
    if (r != WD_OK) forget_stepper(self);
    return of_int(r);
}

/* read_predicted returns the predicted state: when. */
static gd_variant read_predicted(instance *self, gd_variant **args) {
    unsigned char *state = malloc(self->state_size + 1);
    gd_variant v = state && wd_read_predicted(self->client, (int32_t)to_int(args[0]), state, self->state_size) == WD_OK ? of_bytes(state, self->state_size) : nil();
    free(state);
    return v;
}

static gd_variant prediction(instance *self, gd_variant **args) {
    gd_value d;
    wd_prediction p = {.size = sizeof p};
    (void)args;
    if (wd_get_prediction(self->client, &p) != WD_OK) return nil();
    GD(GD_DICTIONARY_NEW, void, gd_value *)(&d);
    put(&d, "active", of_int(p.active));
    put(&d, "predicted", of_int(p.predicted));
    put(&d, "confirmed", of_int(p.confirmed));
    put(&d, "agreed", of_int((int64_t)p.agreed));
    put(&d, "corrected", of_int((int64_t)p.corrected));
    put(&d, "missed", of_int((int64_t)p.missed));
    return finish(&d);
}

static gd_variant take_provisional(instance *self, gd_variant **args) {
    wd_handle h = 0;
    (void)args;
    wd_take_provisional(self->client, &h);
    return of_int((int64_t)h);
}

static gd_variant real(instance *self, gd_variant **args) {
    wd_handle h = 0;
    wd_real(self->client, (wd_handle)to_int(args[0]), &h);
    return of_int((int64_t)h);
}

typedef struct method {
    const char *name;
    gd_variant (*call)(instance *self, gd_variant **args);
    int arguments;
} method;

static const method methods[] = {
    {"connect_to", connect_to, 4}, {"update", update, 1}, {"status", status, 0}, {"text", text, 1}, {"poll", poll_event, 0},
    {"render", render, 0}, {"lookup", lookup, 1}, {"entities", entities, 0}, {"kind", kind, 1}, {"read_floats", read_floats, 4},
    {"read_records", read_records, 4}, {"send", do_command, 3}, {"set_input", set_input, 1}, {"take_provisional", take_provisional, 0}, {"real", real, 1},
    {"predict", predict, 6}, {"read_predicted", read_predicted, 1}, {"prediction", prediction, 0},
};

/* call is all methods for Godot. A call with another number of arguments returns null. */
static gd_variant call(void *object, void *data, void *user, int count, gd_variant **args) {
    const method *m = data;
    (void)object;
    return user && count == m->arguments ? m->call(user, args) : nil();
}

static void *create(void *object, void *data) {
    (void)object, (void)data;
    return calloc(1, sizeof(instance));
}

static void destroy(void *object, void *data, void *user) {
    instance *self = user;
    (void)object, (void)data;
    if (!self) return;
    wd_destroy_client(self->client);
    forget_stepper(self);
    free(self->body);
    free(self);
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
