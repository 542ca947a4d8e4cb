/* The class WorlddClient: README.md beside this file lists its methods. worldd_godot.c and worldd_godot4.c include it, each after the
 * functions for values of its version of Godot: of_int, to_int, put and so on. */

typedef struct instance {
    wd_client client;
    char error[512]; /* why connect_to failed */
    unsigned char *body;
    size_t body_room;
    bool predicts; /* then the members below are set */
    gd_variant stepper;
    gd_name step;
    size_t state_size, input_size;
} instance;

static void forget_stepper(instance *self) {
    if (!self->predicts) return;
    free_variant(&self->stepper);
    free_name(&self->step);
    self->predicts = false;
}

static gd_variant connect_to(instance *self, const gd_variant *const *args) {
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

static gd_variant update(instance *self, const gd_variant *const *args) {
    return of_int(wd_update(self->client, to_real(args[0])));
}

static gd_variant status(instance *self, const gd_variant *const *args) {
    wd_status s = {.size = sizeof s};
    (void)args;
    if (wd_get_status(self->client, &s) != WD_OK) return nil();
    gd_value d = new_dictionary();
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

static gd_variant text(instance *self, const gd_variant *const *args) {
    char buffer[1024];
    if (!self->client.id) return of_text(self->error);
    wd_text(self->client, (int32_t)to_int(args[0]), buffer, sizeof buffer);
    return of_text(buffer);
}

static gd_variant poll_event(instance *self, const gd_variant *const *args) {
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
    gd_value d = new_dictionary();
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

static gd_variant render(instance *self, const gd_variant *const *args) {
    double tick = 0;
    (void)args;
    return wd_render(self->client, &tick) == WD_OK ? of_real(tick) : nil();
}

static gd_variant lookup(instance *self, const gd_variant *const *args) { return of_int(wd_lookup(self->client, (wd_handle)to_int(args[0]))); }

static gd_variant entities(instance *self, const gd_variant *const *args) {
    size_t n = 0;
    (void)args;
    if (wd_entities(self->client, NULL, 0, &n) != WD_OK) return nil();
    wd_handle *handles = malloc((n + 1) * sizeof *handles);
    gd_variant v = handles && wd_entities(self->client, handles, n, &n) == WD_OK ? of_handles(handles, n) : nil();
    free(handles);
    return v;
}

static gd_variant kind(instance *self, const gd_variant *const *args) {
    wd_entity e = {.size = sizeof e};
    return wd_get_entity(self->client, (wd_handle)to_int(args[0]), &e) == WD_OK ? of_int(e.kind) : of_int(-1);
}

/* read_floats reads one field of entities: component, field, when, handles. */
static gd_variant read_floats(instance *self, const gd_variant *const *args) {
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
static gd_variant read_records(instance *self, const gd_variant *const *args) {
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
static gd_variant do_command(instance *self, const gd_variant *const *args) {
    size_t size;
    uint32_t id = 0;
    void *record = to_bytes(args[2], &size);
    wd_result r = wd_do(self->client, (uint32_t)to_int(args[0]), (wd_handle)to_int(args[1]), record, size, &id);
    free(record);
    return of_int(r < 0 ? r : (int64_t)id);
}

/* send_raw sends a raw command with the provisional handles that it asks for: command, target, bytes, handles. */
static gd_variant send_raw(instance *self, const gd_variant *const *args) {
    size_t size, n;
    uint32_t id = 0;
    void *bytes = to_bytes(args[2], &size);
    wd_handle *handles = to_handles(args[3], &n);
    wd_result r = wd_do_raw(self->client, (uint32_t)to_int(args[0]), (wd_handle)to_int(args[1]), bytes, size, handles, n, &id);
    free(handles);
    free(bytes);
    return of_int(r < 0 ? r : (int64_t)id);
}

static gd_variant set_input(instance *self, const gd_variant *const *args) {
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
    size_t n = 0;
    gd_variant args[] = {of_bytes(call->state, self->state_size), of_bytes(call->input, self->input_size), of_int(call->tick)};
    gd_variant returned = call_method(&self->stepper, &self->step, args);
    gd_value all = to_array(&returned);
    int64_t count = array_size(&all);
    for (int64_t i = 0; i < count && i <= WD_MAX_EFFECTS; i++) {
        gd_variant v = array_at(&all, i);
        void *bytes = i == 0 ? to_bytes(&v, &n) : NULL;
        if (bytes && n == self->state_size) memcpy(call->state, bytes, n);
        if (i > 0) call->effects[call->effect_count++] = (uint32_t)to_int(&v);
        free(bytes);
        free_variant(&v);
    }
    free_array(&all);
    free_variant(&returned);
    for (int i = 0; i < 3; i++) free_variant(&args[i]);
}

/* predict predicts by a method of an object: components, the state's size, the input's size, the object, the method's name, snap. */
static gd_variant predict(instance *self, const gd_variant *const *args) {
    enum { MOST = 32 };
    uint32_t components[MOST];
    size_t n = 0;
    if (self->predicts) return of_int(WD_REFUSED);
    wd_handle *numbers = to_handles(args[0], &n);
    for (size_t i = 0; numbers && i < n && i < MOST; i++) components[i] = (uint32_t)numbers[i];
    free(numbers);
    self->step = to_name(args[4]);
    self->stepper = copy_variant(args[3]);
    self->predicts = true;
    self->state_size = (size_t)to_int(args[1]);
    self->input_size = (size_t)to_int(args[2]);
    wd_prediction_def def = {.size = sizeof def, .component_count = (uint32_t)n, .components = components, .state_size = self->state_size, .step = step,
                             .user = self, .snap = to_real(args[5])};
    wd_result r = WD_BAD_ARGUMENT;
    if (n <= MOST && has_method(&self->stepper, &self->step)) r = wd_predict(self->client, &def);
    if (r != WD_OK) forget_stepper(self);
    return of_int(r);
}

/* read_predicted returns the predicted state: when. */
static gd_variant read_predicted(instance *self, const gd_variant *const *args) {
    unsigned char *state = malloc(self->state_size + 1);
    gd_variant v = state && wd_read_predicted(self->client, (int32_t)to_int(args[0]), state, self->state_size) == WD_OK ? of_bytes(state, self->state_size) : nil();
    free(state);
    return v;
}

static gd_variant prediction(instance *self, const gd_variant *const *args) {
    wd_prediction p = {.size = sizeof p};
    (void)args;
    if (wd_get_prediction(self->client, &p) != WD_OK) return nil();
    gd_value d = new_dictionary();
    put(&d, "active", of_int(p.active));
    put(&d, "predicted", of_int(p.predicted));
    put(&d, "confirmed", of_int(p.confirmed));
    put(&d, "agreed", of_int((int64_t)p.agreed));
    put(&d, "corrected", of_int((int64_t)p.corrected));
    put(&d, "missed", of_int((int64_t)p.missed));
    return finish(&d);
}

static gd_variant take_provisional(instance *self, const gd_variant *const *args) {
    wd_handle h = 0;
    (void)args;
    wd_take_provisional(self->client, &h);
    return of_int((int64_t)h);
}

static gd_variant real(instance *self, const gd_variant *const *args) {
    wd_handle h = 0;
    wd_real(self->client, (wd_handle)to_int(args[0]), &h);
    return of_int((int64_t)h);
}

typedef struct method {
    const char *name;
    gd_variant (*call)(instance *self, const gd_variant *const *args);
    int arguments;
} method;

static const method methods[] = {
    {"connect_to", connect_to, 4}, {"update", update, 1}, {"status", status, 0}, {"text", text, 1}, {"poll", poll_event, 0},
    {"render", render, 0}, {"lookup", lookup, 1}, {"entities", entities, 0}, {"kind", kind, 1}, {"read_floats", read_floats, 4},
    {"read_records", read_records, 4}, {"send", do_command, 3}, {"send_raw", send_raw, 4}, {"set_input", set_input, 1}, {"take_provisional", take_provisional, 0}, {"real", real, 1},
    {"predict", predict, 6}, {"read_predicted", read_predicted, 1}, {"prediction", prediction, 0},
};

static void free_instance(instance *self) {
    if (!self) return;
    wd_destroy_client(self->client);
    forget_stepper(self);
    free(self->body);
    free(self);
}
