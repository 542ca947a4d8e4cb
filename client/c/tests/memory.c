/* A program for valgrind, which sees what the library does with the memory of its host, as no sanitizer does: here all of it is malloc's, of
 * the exact size, and freed as soon as a call has returned. In the end one array is too short: valgrind must say so, and nothing else. */
#define _POSIX_C_SOURCE 200809L
#include <string.h>

#include "hosted.h"
#include "plot.h" /* generated */

enum { ALL = 41 }; /* 40 stones and the player */
static wd_client c;

/* block returns n bytes, copied from `from` if it is not NULL. */
static void *block(size_t n, const void *from) {
    void *to = calloc(1, n);
    CHECK(to);
    if (from) memcpy(to, from, n);
    return to;
}

/* text returns a copy, with room behind it: Go looks for a text's end 32 bytes at a time, within a page. */
static char *text(const char *s) {
    char *to = block(strlen(s) + 32, NULL);
    return strcpy(to, s);
}

static void step(wd_step *s) {
    plot_body *body = s->state;
    const plot_input *in = s->input;
    body->Position[0] += in->X * *(float *)s->user;
}

static void connect_to(const char *address, const char *fingerprint) {
    char *texts[] = {text(address), text(fingerprint), text(plot_schema), text("memory")}, error[256];
    wd_client_def d = wd_default_client_def();
    d.address = texts[0], d.fingerprint = texts[1], d.schema = texts[2], d.name = texts[3];
    d.flags = WD_UPDATES;
    wd_client_def *def = block(sizeof d, &d);
    CHECK(wd_create_client(def, &c, error, sizeof error) == WD_OK);
    free(def);
    for (int i = 0; i < 4; i++) free(texts[i]);
}

static void predict(float *speed) {
    uint32_t component = PLOT_COMPONENT_BODY;
    wd_prediction_def d = {.size = sizeof d, .component_count = 1, .state_size = sizeof(plot_body), .step = step, .user = speed};
    uint32_t *components = block(sizeof component, &component);
    d.components = components;
    wd_prediction_def *def = block(sizeof d, &d);
    CHECK(wd_predict(c, def) == WD_OK);
    free(def);
    free(components);
}

static void texts(void) {
    for (int32_t which = WD_TEXT_ERROR; which <= WD_TEXT_CHANGES; which++) {
        size_t n = wd_text(c, which, NULL, 0) + 1;
        char *to = block(n, NULL);
        CHECK(wd_text(c, which, to, n) == n - 1 && strlen(to) == n - 1);
        free(to);
    }
}

/* drain takes all events, and reports whether the answer to the command was among them. */
static int drain(void) {
    int answered = 0;
    for (;;) {
        wd_event *e = block(sizeof *e, NULL);
        void *body = block(1, NULL);
        e->size = sizeof *e;
        wd_result r = wd_poll_event(c, e, body, 1);
        if (r == WD_BAD_SIZE) {
            size_t n = (size_t)e->body_size;
            free(body);
            body = block(n, NULL);
            r = wd_poll_event(c, e, body, n);
        }
        answered |= e->type == WD_EVENT_RESULT && e->body_size == sizeof(plot_break_answer) && strncmp(body, "well done", 9) == 0;
        free(body);
        free(e);
        if (r == WD_NONE) return answered;
        CHECK(r == WD_OK);
    }
}

/* read_all reads all entities, missing bytes fewer than there are. */
static void read_all(size_t missing) {
    size_t n = 0;
    wd_handle *handles = block(ALL * sizeof *handles, NULL);
    uint8_t *verdicts = block(ALL, NULL);
    float *f32 = block(ALL * 3 * sizeof *f32 - missing, NULL);
    double *f64 = block(ALL * 3 * sizeof *f64, NULL);
    uint64_t *u64 = block(ALL * sizeof *u64, NULL);
    plot_sign *signs = block(ALL * sizeof *signs, NULL);
    wd_entity *e = block(sizeof *e, NULL);
    CHECK(wd_entities(c, handles, ALL, &n) == WD_OK);
    for (; n < ALL; n++) handles[n] = handles[0]; /* of the stone that is gone */
    CHECK(wd_lookup_many(c, handles, n, verdicts) == WD_OK);
    for (int32_t when = WD_NEWEST; when <= WD_RENDERED; when++) {
        CHECK(wd_read_f32(c, PLOT_COMPONENT_BODY, PLOT_BODY_FIELD_POSITION, when, handles, n, f32, verdicts) == WD_OK);
        CHECK(wd_read_f64(c, PLOT_COMPONENT_BODY, PLOT_BODY_FIELD_POSITION, when, handles, n, f64, verdicts) == WD_OK);
        CHECK(wd_read_u64(c, PLOT_COMPONENT_SIGN, PLOT_SIGN_FIELD_FRIEND, when, handles, n, u64, verdicts) == WD_OK);
        CHECK(wd_read_records(c, PLOT_COMPONENT_SIGN, when, handles, n, signs, sizeof *signs, verdicts) == WD_OK);
    }
    e->size = sizeof *e;
    CHECK(wd_get_entity(c, handles[0], e) == WD_OK);
    free(handles), free(verdicts), free(f32), free(f64), free(u64), free(signs), free(e);
}

static void ask(void) {
    size_t n = 0;
    uint32_t id = 0;
    wd_handle *handles = block(ALL * sizeof *handles, NULL), stone = 0;
    plot_break_args *args = block(sizeof *args, NULL);
    CHECK(wd_entities(c, handles, ALL, &n) == WD_OK);
    for (size_t i = 0; i < n && !stone; i++) {
        uint64_t friend;
        uint8_t verdict;
        CHECK(wd_read_u64(c, PLOT_COMPONENT_SIGN, PLOT_SIGN_FIELD_FRIEND, WD_NEWEST, &handles[i], 1, &friend, &verdict) == WD_OK);
        if (verdict == WD_LIVE) stone = handles[i];
    }
    strcpy(args->Name, "Ada");
    CHECK(wd_do(c, PLOT_COMMAND_BREAK, stone, args, sizeof *args, &id) == WD_OK && id);
    free(args);
    free(handles);
}

int main(int argc, char **argv) {
    CHECK(argc == 3);
    float *speed = block(sizeof *speed, NULL);
    int asked = 0, answered = 0, pictures = 0;
    connect_to(argv[1], argv[2]);
    wd_destroy_client(c); /* while it connects */
    connect_to(argv[1], argv[2]);
    predict(speed);
    for (double began = seconds(); !answered || pictures < 30; pause_ms(10)) {
        plot_input *in = block(sizeof *in, NULL);
        plot_body *own = block(sizeof *own, NULL);
        size_t n = 0;
        CHECK(seconds() - began < 60);
        in->X = 0.5f;
        wd_set_input(c, in, sizeof *in, NULL);
        free(in);
        CHECK(wd_update(c, seconds()) == WD_OK);
        answered |= drain();
        if (wd_render(c, NULL) == WD_OK && wd_read_predicted(c, WD_RENDERED, own, sizeof *own) == WD_OK &&
            wd_entities(c, NULL, 0, &n) == WD_OK && n == ALL) {
            if (!asked) read_all(0), ask();
            asked = 1;
        }
        pictures += asked;
        free(own);
    }
    texts();
    read_all(2);
    CHECK(wd_destroy_client(c) == WD_OK);
    wd_shutdown();
    free(speed);
    printf("end\n");
    return 0;
}
