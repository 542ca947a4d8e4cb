/* A program that a test drives: it reads calls of worldd.h from its input, one a line, and answers each with a line. Handles and
 * records are in hex. */
#define _POSIX_C_SOURCE 200809L
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hosted.h"
#include "track.h" /* generated */

enum { MOST = 1 << 18 };
static wd_client c;
static unsigned char bytes[MOST];
static char text[MOST];

static char *word(void) { return strtok(NULL, " \n"); }

static unsigned long long number(int base) {
    char *w = word();
    CHECK(w);
    return strtoull(w, NULL, base);
}

/* unhex reads a record into bytes, and returns its size. */
static size_t unhex(void) {
    char *w = word();
    size_t n = 0;
    unsigned x;
    for (; w && sscanf(w + 2 * n, "%2x", &x) == 1; n++) bytes[n] = (unsigned char)x;
    return n;
}

static void hex(size_t n) {
    if (n == 0) printf(" -");
    for (size_t i = 0; i < n; i++) printf("%s%02x", i ? "" : " ", bytes[i]);
}

static void result(wd_result r) { printf("%s", wd_result_name(r)); }

static void print_text(int32_t which) {
    size_t n = wd_text(c, which, text, sizeof text);
    CHECK(n < sizeof text);
    for (size_t i = 0; i < n; i++)
        if (text[i] == '\n') text[i] = '|';
    printf("%s", text);
}

/* create FLAGS GIVE_UP ADDRESS FINGERPRINT ROOM SCHEMA_FILE, "-" for none. */
static void create(void) {
    wd_client_def d = wd_default_client_def();
    d.flags = (uint32_t)number(10);
    d.give_up = strtod(word(), NULL);
    d.address = word();
    d.fingerprint = word();
    d.room = word();
    char *file = word();
    if (strcmp(d.room, "-") == 0) d.room = NULL;
    if (strcmp(d.fingerprint, "-") == 0) d.fingerprint = NULL;
    d.schema = track_schema;
    d.name = "driven";
    if (strcmp(file, "-") != 0) {
        FILE *f = fopen(file, "r");
        CHECK(f);
        text[fread(text, 1, sizeof text - 1, f)] = 0;
        fclose(f);
        d.schema = text;
    }
    char error[512];
    wd_result r = wd_create_client(&d, &c, error, sizeof error);
    result(r);
    if (r != WD_OK) printf(" %s", error);
}

static void event(void) {
    wd_event e = {.size = sizeof e};
    wd_result r = wd_poll_event(c, &e, bytes, sizeof bytes);
    result(r);
    if (r != WD_OK) return;
    printf(" %d %u %u %llx %u %d %d %d %u %u", e.type, e.tick, e.number, (unsigned long long)e.handle, e.id, e.code, e.verdict, e.state, e.reason, e.flags);
    hex((size_t)e.body_size);
    printf(" ");
    print_text(WD_TEXT_EVENT);
}

static wd_status status_now(void) {
    wd_status s = {.size = sizeof s};
    CHECK(wd_get_status(c, &s) == WD_OK);
    return s;
}

static void status(void) {
    wd_status s = status_now();
    printf("%d %d %u %u %u %llx %llx %llu %u %u %llu", s.state, s.code, s.tick, s.entities, s.applied_input, (unsigned long long)s.controlled,
           (unsigned long long)s.epoch, (unsigned long long)s.session, s.over_tcp, s.unanswered, (unsigned long long)s.bytes_received);
}

/* arrive BYTES updates until so many have arrived and were applied, or the client is no longer joined. */
static void arrive(void) {
    uint64_t want = number(10);
    wd_result r = WD_OK;
    wd_status s = status_now();
    for (double began = seconds(); s.state == WD_JOINED && s.bytes_received < want && seconds() < began + 30; s = status_now()) {
        pause_ms(0);
        wd_update(c, seconds());
    }
    r = wd_update(c, seconds()); /* what arrived after the last one */
    result(r);
    printf(" %d", status_now().state);
}

static void entities(void) {
    static wd_handle all[4096];
    size_t n = 0;
    CHECK(wd_entities(c, all, 4096, &n) == WD_OK && n <= 4096);
    for (size_t i = 0; i < n; i++) printf("%s%llx", i ? " " : "", (unsigned long long)all[i]);
}

static void entity(void) {
    wd_entity e = {.size = sizeof e};
    wd_result r = wd_get_entity(c, number(16), &e);
    result(r);
    printf(" %u %u %u %u", e.kind, e.tick, e.components, e.owned);
}

/* record COMPONENT WHEN HANDLE SIZE */
static void record(void) {
    uint32_t component = (uint32_t)number(10);
    int32_t when = (int32_t)number(10);
    wd_handle h = number(16);
    size_t size = number(10);
    uint8_t verdict = 99;
    result(wd_read_records(c, component, when, &h, 1, bytes, size, &verdict));
    printf(" %u", verdict);
    hex(size);
}

static void command(void) {
    uint32_t id = 0, n = (uint32_t)number(10);
    wd_handle target = number(16);
    size_t size = unhex();
    result(wd_do(c, n, target, bytes, size, &id));
    printf(" %u", id);
}

/* do_raw COMMAND TARGET HANDLE BYTES */
static void raw_command(void) {
    uint32_t id = 0, n = (uint32_t)number(10);
    wd_handle target = number(16), provisional = number(16);
    size_t size = unhex();
    result(wd_do_raw(c, n, target, bytes, size, &provisional, 1, &id));
    printf(" %u", id);
}

static void input(void) {
    uint32_t tick = 0;
    size_t size = unhex();
    result(wd_set_input(c, bytes, size, &tick));
    printf(" %u", tick);
}

static void provisional(void) {
    wd_handle h = 0;
    result(wd_take_provisional(c, &h));
    printf(" %llx", (unsigned long long)h);
}

static void real(void) {
    wd_handle h = 0;
    result(wd_real(c, number(16), &h));
    printf(" %llx", (unsigned long long)h);
}

/* run_state is what the step function moves. */
typedef struct run_state {
    track_runner runner;
    uint32_t steps;
    uint32_t calls_refused;
} run_state;

/* run is runner.step of driven_test.go. */
static void run(wd_step *step) {
    run_state *s = step->state;
    const track_input *in = step->input;
    CHECK(step->size == sizeof *step && step->user == &c);
    s->steps++;
    s->calls_refused += wd_lookup(c, 1) == WD_BUSY;
    s->runner.Speed = s->runner.Speed * 0.875f + in->X * 0.75f;
    s->runner.Position[0] += s->runner.Speed * (1.0f / 60);
    s->runner.Position[1] += in->Z * (6.0f / 60);
    if (in->X > 0.5f && s->runner.Speed > 5) {
        s->runner.Jumps++;
        step->effects[step->effect_count++] = 7;
    }
}

/* predict SNAP */
static void predict(void) {
    static const uint32_t components[] = {TRACK_COMPONENT_RUNNER};
    wd_prediction_def d = {.size = sizeof d, .component_count = 1, .components = components, .state_size = sizeof(run_state), .step = run, .user = &c};
    result(wd_predict(c, &d));
}

/* predicted WHEN prints the state, and the ticks predicted and confirmed. */
static void predicted(void) {
    wd_prediction p = {.size = sizeof p};
    wd_result r = wd_read_predicted(c, (int32_t)number(10), bytes, sizeof(run_state));
    CHECK(wd_get_prediction(c, &p) == WD_OK);
    result(r);
    printf(" %u %u %u %llu %llu %llu %llu", p.active, p.predicted, p.confirmed, (unsigned long long)p.agreed, (unsigned long long)p.corrected,
           (unsigned long long)p.missed, (unsigned long long)p.undone);
    hex(r == WD_OK ? sizeof(run_state) : 0);
}

/* misuse calls the prediction with what a program should never pass. */
static void misuse(void) {
    uint32_t components[] = {TRACK_COMPONENT_RUNNER, TRACK_COMPONENT_RUNNER, 99};
    wd_prediction_def good = {.size = sizeof good, .component_count = 1, .components = components, .state_size = sizeof(run_state), .step = run}, d = good;
    wd_prediction p = {.size = 8};
    run_state s;
    CHECK(wd_predict(c, NULL) == WD_BAD_ARGUMENT);
    d.size = 8;
    CHECK(wd_predict(c, &d) == WD_BAD_SIZE);
    d = good, d.step = NULL;
    CHECK(wd_predict(c, &d) == WD_BAD_ARGUMENT);
    d = good, d.components = NULL;
    CHECK(wd_predict(c, &d) == WD_BAD_ARGUMENT);
    d = good, d.component_count = 0;
    CHECK(wd_predict(c, &d) == WD_BAD_ARGUMENT);
    d = good, d.component_count = 2; /* one twice */
    CHECK(wd_predict(c, &d) == WD_BAD_ARGUMENT);
    d = good, d.component_count = UINT32_MAX;
    CHECK(wd_predict(c, &d) == WD_BAD_ARGUMENT);
    d = good, d.components = components + 2;
    CHECK(wd_predict(c, &d) == WD_BAD_ARGUMENT);
    d = good, d.state_size = sizeof(track_runner) - 1;
    CHECK(wd_predict(c, &d) == WD_BAD_SIZE);
    d = good, d.state_size = SIZE_MAX;
    CHECK(wd_predict(c, &d) == WD_BAD_SIZE);
    d = good, d.snap = -1;
    CHECK(wd_predict(c, &d) == WD_BAD_ARGUMENT && wd_text(c, WD_TEXT_ERROR, NULL, 0) > 0);
    CHECK(wd_read_predicted(c, WD_NEWEST, &s, sizeof s) == WD_NONE && wd_read_predicted(c, WD_NEWEST, NULL, 0) == WD_BAD_ARGUMENT);
    CHECK(wd_get_prediction(c, NULL) == WD_BAD_ARGUMENT && wd_get_prediction(c, &p) == WD_BAD_SIZE);
    p.size = sizeof p;
    CHECK(wd_get_prediction(c, &p) == WD_NONE);
    result(WD_OK);
}

/* forked ends a child that calls nothing, and goes on. */
static void forked(void) {
    int status = 1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) _exit(7);
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    printf("%d", WEXITSTATUS(status));
}

int main(void) {
    static char line[1 << 19];
    static const struct {
        const char *name;
        void (*call)(void);
    } calls[] = {{"create", create}, {"event", event}, {"status", status}, {"arrive", arrive}, {"entities", entities}, {"entity", entity},
                 {"record", record}, {"do", command}, {"do_raw", raw_command}, {"input", input}, {"provisional", provisional}, {"real", real}, {"predict", predict},
                 {"predicted", predicted}, {"misuse", misuse}, {"fork", forked}};
    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    while (fgets(line, sizeof line, stdin)) {
        char *name = strtok(line, " \n");
        size_t i = 0, n = sizeof calls / sizeof *calls;
        while (i < n && strcmp(name, calls[i].name) != 0) i++;
        if (i < n) {
            calls[i].call();
        } else if (strcmp(name, "update") == 0) {
            pause_ms((long)number(10));
            result(wd_update(c, seconds()));
        } else if (strcmp(name, "render") == 0) {
            result(wd_render(c, NULL));
        } else if (strcmp(name, "lookup") == 0) {
            printf("%d", wd_lookup(c, number(16)));
        } else if (strcmp(name, "text") == 0) {
            print_text((int32_t)number(10));
        } else {
            CHECK(strcmp(name, "destroy") == 0);
            result(wd_destroy_client(c));
            wd_shutdown();
        }
        printf("\n");
        fflush(stdout);
    }
    return 0;
}
