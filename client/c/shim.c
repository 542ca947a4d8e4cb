// The functions of worldd.h. They check pointers and sizes, and call Go in the default floating-point environment.
#include <string.h>

#include "worldd.h"
#include "_cgo_export.h"

// Engines set FTZ and DAZ on their threads, and Go computes on the calling one: states would differ from the server's.
#if defined(__x86_64__) || defined(__i386__)
#include <xmmintrin.h>
typedef unsigned int fp_state;
static fp_state fp_default(void) {
    fp_state s = _mm_getcsr();
    _mm_setcsr(0x1f80);
    return s;
}
static void fp_restore(fp_state s) { _mm_setcsr(s); }
#elif defined(__aarch64__)
typedef uint64_t fp_state;
static fp_state fp_default(void) {
    fp_state s;
    __asm__ volatile("mrs %0, fpcr" : "=r"(s));
    __asm__ volatile("msr fpcr, %0" ::"r"((fp_state)0));
    return s;
}
static void fp_restore(fp_state s) { __asm__ volatile("msr fpcr, %0" ::"r"(s)); }
#else
#include <fenv.h>
typedef fenv_t fp_state;
static fp_state fp_default(void) {
    fp_state s;
    fegetenv(&s);
    fesetenv(FE_DFL_ENV);
    return s;
}
static void fp_restore(fp_state s) { fesetenv(&s); }
#endif

#define IN_GO(type, call)       \
    fp_state fp = fp_default(); \
    type result_ = (call);      \
    fp_restore(fp);             \
    return result_

// fits reports whether a program has filled a struct that begins with size in a way that this library knows: bytes that only
// newer versions have must be zero.
static int fits(const void *p, uint32_t size, size_t least, size_t known) {
    const unsigned char *b = (const unsigned char *)p;
    if (size < least || size > 1 << 16) return 0;
    for (size_t i = known; i < size; i++)
        if (b[i]) return 0;
    return 1;
}

// give copies what a program knows of a struct that begins with size, and keeps its size.
static void give(void *to, const void *from, size_t known) {
    uint32_t size;
    memcpy(&size, to, sizeof size);
    memcpy((char *)to + sizeof size, (const char *)from + sizeof size, (size < known ? size : known) - sizeof size);
}

#define FIRST_DEF sizeof(wd_client_def) /* of the version that introduced it */
#define FIRST_STATUS sizeof(wd_status)
#define FIRST_EVENT sizeof(wd_event)
#define FIRST_FIELD sizeof(wd_field)
#define FIRST_ENTITY sizeof(wd_entity)
#define FIRST_PREDICTION_DEF sizeof(wd_prediction_def)
#define FIRST_PREDICTION sizeof(wd_prediction)

static wd_result explain(const char *text, char *buffer, size_t capacity, wd_result r) {
    if (buffer && capacity > 0) {
        size_t n = strlen(text);
        if (n >= capacity) n = capacity - 1;
        memcpy(buffer, text, n);
        buffer[n] = 0;
    }
    return r;
}

uint32_t wd_version(void) { return WD_VERSION; }

const char *wd_result_name(wd_result r) {
    switch (r) {
    case WD_OK: return "WD_OK";
    case WD_NONE: return "WD_NONE";
    case WD_BAD_CLIENT: return "WD_BAD_CLIENT";
    case WD_BAD_ARGUMENT: return "WD_BAD_ARGUMENT";
    case WD_BAD_SIZE: return "WD_BAD_SIZE";
    case WD_NOT_JOINED: return "WD_NOT_JOINED";
    case WD_BUSY: return "WD_BUSY";
    case WD_ENDED: return "WD_ENDED";
    case WD_REFUSED: return "WD_REFUSED";
    case WD_FAULT: return "WD_FAULT";
    }
    return "unknown result";
}

wd_client_def wd_default_client_def(void) {
    wd_client_def d;
    memset(&d, 0, sizeof d);
    d.size = sizeof d;
    return d;
}

wd_result wd_create_client(const wd_client_def *def, wd_client *out, char *error, size_t capacity) {
    wd_client_def d;
    if (out) out->id = 0;
    if (!def || !out) return explain("worldd: def or out is NULL", error, capacity, WD_BAD_ARGUMENT);
    if (!fits(def, def->size, FIRST_DEF, sizeof d))
        return explain("worldd: def.size is not sizeof(wd_client_def), or def is of a newer version", error, capacity, WD_BAD_SIZE);
    memset(&d, 0, sizeof d);
    memcpy(&d, def, def->size < sizeof d ? def->size : sizeof d);
    if (!d.address) return explain("worldd: def.address is NULL", error, capacity, WD_BAD_ARGUMENT);
    if (!d.token && d.token_size) return explain("worldd: def.token is NULL", error, capacity, WD_BAD_ARGUMENT);
    IN_GO(wd_result, goCreateClient(&d, &out->id, error, error ? capacity : 0));
}

wd_result wd_destroy_client(wd_client c) { IN_GO(wd_result, goDestroyClient(c.id)); }

void wd_shutdown(void) {
    fp_state fp = fp_default();
    goShutdown();
    fp_restore(fp);
}

wd_result wd_update(wd_client c, double now) { IN_GO(wd_result, goUpdate(c.id, now)); }

wd_result wd_get_status(wd_client c, wd_status *status) {
    wd_status s;
    if (!status) return WD_BAD_ARGUMENT;
    if (status->size < FIRST_STATUS) return WD_BAD_SIZE;
    memset(&s, 0, sizeof s);
    fp_state fp = fp_default();
    wd_result r = goGetStatus(c.id, &s);
    fp_restore(fp);
    if (r == WD_OK) give(status, &s, sizeof s);
    return r;
}

size_t wd_text(wd_client c, int32_t which, char *buffer, size_t capacity) {
    if (!buffer) capacity = 0;
    if (capacity > 0) buffer[0] = 0;
    IN_GO(size_t, goText(c.id, which, buffer, capacity));
}

wd_result wd_poll_event(wd_client c, wd_event *event, void *body, size_t capacity) {
    wd_event e;
    if (!event || (!body && capacity)) return WD_BAD_ARGUMENT;
    if (event->size < FIRST_EVENT) return WD_BAD_SIZE;
    memset(&e, 0, sizeof e);
    fp_state fp = fp_default();
    wd_result r = goPollEvent(c.id, &e, body, capacity);
    fp_restore(fp);
    if (r == WD_OK || r == WD_BAD_SIZE) give(event, &e, sizeof e);
    return r;
}

wd_result wd_render(wd_client c, double *tick) { IN_GO(wd_result, goRender(c.id, tick)); }

int32_t wd_lookup(wd_client c, wd_handle h) { IN_GO(int32_t, goLookup(c.id, h)); }

wd_result wd_lookup_many(wd_client c, const wd_handle *handles, size_t n, uint8_t *verdicts) {
    if (n > WD_MAX_COUNT || (n && (!handles || !verdicts))) return WD_BAD_ARGUMENT;
    IN_GO(wd_result, goLookupMany(c.id, (wd_handle *)handles, n, verdicts));
}

wd_result wd_entities(wd_client c, wd_handle *out, size_t capacity, size_t *count) {
    if (!count || (capacity && !out)) return WD_BAD_ARGUMENT;
    *count = 0;
    if (capacity > WD_MAX_COUNT) capacity = WD_MAX_COUNT;
    IN_GO(wd_result, goEntities(c.id, out, capacity, count));
}

wd_result wd_get_entity(wd_client c, wd_handle h, wd_entity *entity) {
    wd_entity e;
    if (!entity) return WD_BAD_ARGUMENT;
    if (entity->size < FIRST_ENTITY) return WD_BAD_SIZE;
    memset(&e, 0, sizeof e);
    fp_state fp = fp_default();
    wd_result r = goGetEntity(c.id, h, &e);
    fp_restore(fp);
    if (r == WD_OK) give(entity, &e, sizeof e);
    return r;
}

int32_t wd_find(wd_client c, int32_t section, const char *name) {
    if (!name) return WD_BAD_ARGUMENT;
    IN_GO(int32_t, goFind(c.id, section, (char *)name));
}

int32_t wd_find_field(wd_client c, uint32_t component, const char *name) {
    if (!name) return WD_BAD_ARGUMENT;
    IN_GO(int32_t, goFindField(c.id, component, (char *)name));
}

wd_result wd_get_field(wd_client c, uint32_t component, uint32_t field, wd_field *out) {
    wd_field f;
    if (!out) return WD_BAD_ARGUMENT;
    if (out->size < FIRST_FIELD) return WD_BAD_SIZE;
    memset(&f, 0, sizeof f);
    wd_result r = goGetField(c.id, component, field, &f);
    if (r == WD_OK) give(out, &f, sizeof f);
    return r;
}

static int reads(const wd_handle *handles, size_t n, const void *out, int32_t when) {
    return n <= WD_MAX_COUNT && (n == 0 || (handles && out)) && (when == WD_NEWEST || when == WD_RENDERED);
}

wd_result wd_read_f32(wd_client c, uint32_t component, uint32_t field, int32_t when, const wd_handle *handles, size_t n,
                      float *out, uint8_t *verdicts) {
    if (!reads(handles, n, out, when)) return WD_BAD_ARGUMENT;
    IN_GO(wd_result, goReadF32(c.id, component, field, when, (wd_handle *)handles, n, out, verdicts));
}

wd_result wd_read_f64(wd_client c, uint32_t component, uint32_t field, int32_t when, const wd_handle *handles, size_t n,
                      double *out, uint8_t *verdicts) {
    if (!reads(handles, n, out, when)) return WD_BAD_ARGUMENT;
    IN_GO(wd_result, goReadF64(c.id, component, field, when, (wd_handle *)handles, n, out, verdicts));
}

wd_result wd_read_u64(wd_client c, uint32_t component, uint32_t field, int32_t when, const wd_handle *handles, size_t n,
                      uint64_t *out, uint8_t *verdicts) {
    if (!reads(handles, n, out, when)) return WD_BAD_ARGUMENT;
    IN_GO(wd_result, goReadU64(c.id, component, field, when, (wd_handle *)handles, n, out, verdicts));
}

wd_result wd_read_records(wd_client c, uint32_t component, int32_t when, const wd_handle *handles, size_t n, void *out,
                          size_t record_size, uint8_t *verdicts) {
    if (!reads(handles, n, out, when)) return WD_BAD_ARGUMENT;
    IN_GO(wd_result, goReadRecords(c.id, component, when, (wd_handle *)handles, n, out, record_size, verdicts));
}

wd_result wd_do(wd_client c, uint32_t command, wd_handle target, const void *args, size_t size, uint32_t *id) {
    if (id) *id = 0;
    if (!args && size) return WD_BAD_ARGUMENT;
    IN_GO(wd_result, goDo(c.id, command, target, (void *)args, size, NULL, 0, id));
}

wd_result wd_do_raw(wd_client c, uint32_t command, wd_handle target, const void *args, size_t size, const wd_handle *provisional,
                    size_t count, uint32_t *id) {
    if (id) *id = 0;
    if ((!args && size) || (!provisional && count) || count > WD_MAX_COUNT) return WD_BAD_ARGUMENT;
    IN_GO(wd_result, goDo(c.id, command, target, (void *)args, size, (wd_handle *)provisional, count, id));
}

wd_result wd_set_input(wd_client c, const void *input, size_t size, uint32_t *tick) {
    if (tick) *tick = 0;
    if (!input && size) return WD_BAD_ARGUMENT;
    IN_GO(wd_result, goSetInput(c.id, (void *)input, size, tick));
}

wd_result wd_predict(wd_client c, const wd_prediction_def *def) {
    wd_prediction_def d;
    if (!def) return WD_BAD_ARGUMENT;
    if (!fits(def, def->size, FIRST_PREDICTION_DEF, sizeof d)) return WD_BAD_SIZE;
    memset(&d, 0, sizeof d);
    memcpy(&d, def, def->size < sizeof d ? def->size : sizeof d);
    if (!d.components || !d.step) return WD_BAD_ARGUMENT;
    IN_GO(wd_result, goPredict(c.id, &d));
}

// step_from_go is called by Go, inside goUpdate and goSetInput.
void step_from_go(wd_step_function step, wd_step *call) {
    fp_state fp = fp_default(); // a step that changes the environment leaves Go's alone
    step(call);
    fp_restore(fp);
}

wd_result wd_read_predicted(wd_client c, int32_t when, void *state, size_t state_size) {
    if (!state || (when != WD_NEWEST && when != WD_RENDERED)) return WD_BAD_ARGUMENT;
    IN_GO(wd_result, goReadPredicted(c.id, when, state, state_size));
}

wd_result wd_get_prediction(wd_client c, wd_prediction *prediction) {
    wd_prediction p;
    if (!prediction) return WD_BAD_ARGUMENT;
    if (prediction->size < FIRST_PREDICTION) return WD_BAD_SIZE;
    memset(&p, 0, sizeof p);
    fp_state fp = fp_default();
    wd_result r = goGetPrediction(c.id, &p);
    fp_restore(fp);
    if (r == WD_OK) give(prediction, &p, sizeof p);
    return r;
}

wd_result wd_take_provisional(wd_client c, wd_handle *out) {
    if (!out) return WD_BAD_ARGUMENT;
    *out = 0;
    IN_GO(wd_result, goTakeProvisional(c.id, out));
}

wd_result wd_real(wd_client c, wd_handle h, wd_handle *out) {
    if (!out) return WD_BAD_ARGUMENT;
    *out = 0;
    IN_GO(wd_result, goReal(c.id, h, out));
}
