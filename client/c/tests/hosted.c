/* A program that hosts libworldd, for library_test.go: it plays a session and prints what it sees, one line each. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <string.h>
#ifdef __SSE__
#include <xmmintrin.h>
#endif

#include "hosted.h"
#include "yard.h" /* generated */

static wd_client connect_to(const char *address, const char *fingerprint, uint32_t flags) {
    char error[256];
    wd_client c;
    wd_client_def d = wd_default_client_def();
    d.address = address;
    d.fingerprint = fingerprint;
    d.schema = yard_schema;
    d.name = "hosted";
    d.flags = flags;
    wd_result r = wd_create_client(&d, &c, error, sizeof error);
    if (r != WD_OK) fprintf(stderr, "%s: %s\n", wd_result_name(r), error);
    CHECK(r == WD_OK && c.id != 0);
    return c;
}

static wd_status status_of(wd_client c) {
    wd_status s = {.size = sizeof s};
    CHECK(wd_get_status(c, &s) == WD_OK);
    return s;
}

static void print_bits(const float *v, int n) {
    for (int i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &v[i], sizeof bits);
        printf(" %08x", bits);
    }
}

/* row prints an entity's newest state, in the same form as the Go client beside this program. */
static void row(wd_client c, const char *word, wd_handle h) {
    wd_entity e = {.size = sizeof e};
    yard_body body;
    yard_badge badge;
    float position[3];
    uint8_t verdict = 99;
    if (wd_get_entity(c, h, &e) != WD_OK) return;
    CHECK(wd_read_f32(c, YARD_COMPONENT_BODY, YARD_BODY_FIELD_POSITION, WD_NEWEST, &h, 1, position, &verdict) == WD_OK);
    CHECK(verdict == WD_LIVE);
    CHECK(wd_read_records(c, YARD_COMPONENT_BODY, WD_NEWEST, &h, 1, &body, sizeof body, NULL) == WD_OK);
    CHECK(memcmp(position, body.Position, sizeof position) == 0);
    CHECK(wd_read_records(c, YARD_COMPONENT_BADGE, WD_NEWEST, &h, 1, &badge, sizeof badge, &verdict) == WD_OK);
    printf("%s %u %016llx", word, e.tick, (unsigned long long)h);
    print_bits(body.Position, 3);
    print_bits(body.Velocity, 3);
    if (verdict == WD_LIVE) {
        printf(" badge %d %u %016llx %d %s", badge.Temper, badge.Rank, (unsigned long long)badge.Friend, badge.Worn, badge.Label);
        print_bits(&badge.Tiny, 1);
        print_bits(badge.Facing, 4);
    } else {
        CHECK(verdict == WD_LACKING);
    }
    printf("\n");
}

static wd_handle *seen;
static size_t seen_count, seen_room;

static void note(wd_handle h) {
    for (size_t i = 0; i < seen_count; i++)
        if (seen[i] == h) return;
    if (seen_count == seen_room) {
        seen_room = seen_room ? 2 * seen_room : 1024;
        seen = realloc(seen, seen_room * sizeof *seen);
        CHECK(seen);
    }
    seen[seen_count++] = h;
}

/* drain prints the waiting events. It returns the tick of the game's last event, 0 before it. */
static uint32_t drain(wd_client c, unsigned *updates) {
    union {
        yard_bell_event bell;
        yard_greet_answer greeting;
        unsigned char bytes[2048];
    } body;
    char text[256];
    uint32_t over = 0;
    wd_event e = {.size = sizeof e};
    while (wd_poll_event(c, &e, &body, sizeof body) == WD_OK) {
        switch (e.type) {
        case WD_EVENT_STATE:
            wd_text(c, WD_TEXT_EVENT, text, sizeof text);
            printf("state %d code %d flags %u %s\n", e.state, e.code, e.flags, text);
            break;
        case WD_EVENT_ENTER: note(e.handle); break;
        case WD_EVENT_UPDATE:
            ++*updates;
            row(c, "row", e.handle);
            break;
        case WD_EVENT_DESTROY: printf("destroyed %016llx cause %u\n", (unsigned long long)e.handle, e.reason); break;
        case WD_EVENT_MESSAGE:
            CHECK(e.number == YARD_EVENT_BELL && e.body_size == sizeof body.bell);
            printf("bell %s %u\n", body.bell.Word, body.bell.Strokes);
            if (body.bell.Strokes == 0) over = e.tick;
            break;
        case WD_EVENT_RESULT:
            wd_text(c, WD_TEXT_EVENT, text, sizeof text);
            printf("result of %u code %d verdict %d %s", e.number, e.code, e.verdict, text);
            if (e.body_size) printf(" answer %s %u", body.greeting.Words, body.greeting.Length);
            printf("\n");
            break;
        }
    }
    return over;
}

static void play(wd_client c) {
    yard_greet_args greet = {.Name = "Ada"};
    yard_input held = {.X = 0.5f};
    uint32_t over = 0, id = 0, quiet_since = 0;
    unsigned updates = 0;
    int asked = 0;
    for (double began = seconds(); seconds() - began < 180; pause_ms(4)) {
        CHECK(wd_update(c, seconds()) == WD_OK);
        unsigned before = updates;
        uint32_t now_over = drain(c, &updates);
        wd_status s = status_of(c);
        if (now_over) over = now_over;
        if (updates != before) quiet_since = s.tick;
        if (s.state != WD_JOINED) continue;
        double moment;
        wd_render(c, &moment);
        if (s.controlled) CHECK(wd_set_input(c, &held, sizeof held, NULL) == WD_OK);
        if (!asked && s.controlled && wd_lookup(c, s.controlled) == WD_LIVE) {
            CHECK(wd_do(c, YARD_COMMAND_GREET, s.controlled, &greet, sizeof greet, &id) == WD_OK && id != 0);
            CHECK(wd_do(c, YARD_COMMAND_GREET, 0x100000007ffffffeull, &greet, sizeof greet, &id) == WD_OK);
            CHECK(wd_do(c, YARD_COMMAND_GREET, 0, &greet, sizeof greet - 1, &id) == WD_BAD_SIZE && id == 0);
            CHECK(wd_do(c, 99, 0, &greet, sizeof greet, &id) == WD_BAD_ARGUMENT);
            asked = 1;
        }
        if (over && s.tick > over + s.tick_hz && s.tick > quiet_since + s.tick_hz / 2) break;
    }
    CHECK(over);
    for (size_t i = 0; i < seen_count; i++) {
        printf("verdict %016llx %d\n", (unsigned long long)seen[i], wd_lookup(c, seen[i]));
        row(c, "final", seen[i]);
    }
}

/* rest checks bulk reads at rest, when rendered states are the newest ones. */
static void rest(wd_client c) {
    enum { MOST = 4096 };
    static wd_handle handles[MOST];
    static float newest[MOST * 3], rendered[MOST * 3];
    static uint8_t verdicts[MOST], again[MOST];
    size_t n = 0;
    CHECK(wd_entities(c, handles, MOST - 2, &n) == WD_OK && n > 0 && n < MOST - 2);
    CHECK(n == status_of(c).entities);
    handles[n++] = 0;
    handles[n++] = ~0ull;
    CHECK(wd_read_f32(c, YARD_COMPONENT_BODY, YARD_BODY_FIELD_POSITION, WD_NEWEST, handles, n, newest, verdicts) == WD_OK);
    CHECK(wd_read_f32(c, YARD_COMPONENT_BODY, YARD_BODY_FIELD_POSITION, WD_RENDERED, handles, n, rendered, NULL) == WD_OK);
    CHECK(memcmp(newest, rendered, n * 3 * sizeof *newest) == 0);
    CHECK(wd_lookup_many(c, handles, n, again) == WD_OK);
    CHECK(memcmp(verdicts, again, n) == 0 && verdicts[0] == WD_LIVE && verdicts[n - 1] == WD_STALE);
    /* A denormal, converted: DAZ and FTZ of this thread do not reach the library, and stay as they are. */
    double tiny = 0;
    uint64_t bits, rank[1];
    wd_handle me = status_of(c).controlled;
    CHECK(wd_read_f64(c, YARD_COMPONENT_BADGE, YARD_BADGE_FIELD_TINY, WD_NEWEST, &me, 1, &tiny, NULL) == WD_OK);
    memcpy(&bits, &tiny, sizeof bits);
    printf("tiny %016llx\n", (unsigned long long)bits);
    CHECK(wd_read_u64(c, YARD_COMPONENT_BADGE, YARD_BADGE_FIELD_RANK, WD_NEWEST, &me, 1, rank, NULL) == WD_OK && rank[0] == 7);
    CHECK(wd_read_f32(c, YARD_COMPONENT_BADGE, YARD_BADGE_FIELD_RANK, WD_NEWEST, &me, 1, newest, NULL) == WD_BAD_ARGUMENT);
}

static void print_texts(wd_client c) {
    char small[8];
    size_t length = wd_text(c, WD_TEXT_SCHEMA, small, sizeof small);
    CHECK(length > sizeof small && strcmp(small, "worldd ") == 0);
    CHECK(wd_text(c, WD_TEXT_SCHEMA, NULL, 0) == length && wd_text(c, 99, small, sizeof small) == 0 && small[0] == 0);
    CHECK(wd_text(c, WD_TEXT_CHANGES, NULL, 0) == 0);
}

/* hostile calls with what a program should never pass. */
static void hostile(wd_client c) {
    wd_client none = {0}, other = {c.id + (1ull << 32)};
    wd_client_def d = wd_default_client_def();
    char error[64];
    wd_handle h = 0;
    size_t count;
    uint8_t verdict;
    float v[3];
    CHECK(wd_create_client(NULL, &none, error, sizeof error) == WD_BAD_ARGUMENT && error[0]);
    CHECK(wd_create_client(&d, NULL, NULL, 0) == WD_BAD_ARGUMENT);
    CHECK(wd_create_client(&d, &none, error, 1) == WD_BAD_ARGUMENT && error[0] == 0 && none.id == 0);
    d.address = "nowhere";
    CHECK(wd_create_client(&d, &none, error, sizeof error) == WD_BAD_ARGUMENT && error[0]);
    d.address = "127.0.0.1:1";
    d.size = 7;
    CHECK(wd_create_client(&d, &none, error, sizeof error) == WD_BAD_SIZE);
    d.size = sizeof d;
    d.flags = 1u << 31;
    CHECK(wd_create_client(&d, &none, error, sizeof error) == WD_BAD_ARGUMENT);
    d.flags = 0;
    d.schema = "worldd schema 99\n";
    CHECK(wd_create_client(&d, &none, error, sizeof error) == WD_BAD_ARGUMENT);
    struct { wd_client_def d; uint64_t more; } newer;
    memset(&newer, 0, sizeof newer);
    newer.d.size = sizeof newer;
    newer.more = 1;
    CHECK(wd_create_client(&newer.d, &none, error, sizeof error) == WD_BAD_SIZE);

    CHECK(wd_update(none, 0) == WD_BAD_CLIENT && wd_update(other, 0) == WD_BAD_CLIENT);
    CHECK(wd_update(c, NAN) == WD_BAD_ARGUMENT && wd_update(c, -1e300) == WD_BAD_ARGUMENT);
    CHECK(wd_lookup(none, 1) == WD_BAD_CLIENT && wd_text(none, WD_TEXT_ERROR, error, sizeof error) == 0);
    CHECK(wd_get_status(c, NULL) == WD_BAD_ARGUMENT);
    CHECK(wd_get_status(c, &(wd_status){.size = 4}) == WD_BAD_SIZE);
    CHECK(wd_poll_event(c, NULL, NULL, 0) == WD_BAD_ARGUMENT);
    CHECK(wd_poll_event(c, &(wd_event){.size = 0}, NULL, 0) == WD_BAD_SIZE);
    CHECK(wd_entities(c, NULL, 1, &count) == WD_BAD_ARGUMENT && wd_entities(c, NULL, 0, NULL) == WD_BAD_ARGUMENT);
    CHECK(wd_lookup_many(c, NULL, 1, &verdict) == WD_BAD_ARGUMENT && wd_lookup_many(c, NULL, 0, NULL) == WD_OK);
    CHECK(wd_lookup_many(c, &h, SIZE_MAX, &verdict) == WD_BAD_ARGUMENT);
    CHECK(wd_read_f32(c, 0, 0, WD_NEWEST, NULL, 1, v, NULL) == WD_BAD_ARGUMENT);
    CHECK(wd_read_f32(c, 0, 0, WD_NEWEST, &h, SIZE_MAX, v, NULL) == WD_BAD_ARGUMENT);
    CHECK(wd_read_f32(c, 0, 0, 7, &h, 1, v, NULL) == WD_BAD_ARGUMENT);
    CHECK(wd_read_f32(c, 0, 99, WD_NEWEST, &h, 1, v, NULL) == WD_BAD_ARGUMENT);
    CHECK(wd_read_f32(c, UINT32_MAX, 0, WD_NEWEST, &h, 1, v, NULL) == WD_BAD_ARGUMENT);
    CHECK(wd_read_f32(c, 0, 0, WD_NEWEST, NULL, 0, NULL, NULL) == WD_OK);
    CHECK(wd_read_records(c, 0, WD_NEWEST, &h, 1, v, 1, NULL) == WD_BAD_SIZE && wd_text(c, WD_TEXT_ERROR, NULL, 0) > 0);
    CHECK(wd_find(c, WD_COMPONENT, NULL) == WD_BAD_ARGUMENT && wd_find(c, 99, "body") == WD_BAD_ARGUMENT);
    CHECK(wd_find(c, WD_COMPONENT, "body") == YARD_COMPONENT_BODY && wd_find(c, WD_COMPONENT, "bodies") == WD_BAD_ARGUMENT);
    CHECK(wd_find_field(c, YARD_COMPONENT_BODY, "Velocity") == YARD_BODY_FIELD_VELOCITY);
    wd_field f = {.size = sizeof f};
    CHECK(wd_get_field(c, YARD_COMPONENT_BODY, YARD_BODY_FIELD_VELOCITY, &f) == WD_OK);
    CHECK(f.type == WD_TYPE_F32 && f.count == 3 && f.offset == offsetof(yard_body, Velocity));
    CHECK(wd_do(c, 0, 0, NULL, 0, NULL) == WD_BAD_ARGUMENT && wd_set_input(c, NULL, 0, NULL) == WD_BAD_ARGUMENT);
    CHECK(wd_do_raw(c, 0, 0, NULL, 0, NULL, 1, NULL) == WD_BAD_ARGUMENT && wd_do_raw(c, 0, 0, NULL, 1, NULL, 0, NULL) == WD_BAD_ARGUMENT);
    CHECK(wd_set_input(c, v, 3, NULL) == WD_BAD_SIZE);
    CHECK(wd_destroy_client(none) == WD_BAD_CLIENT && wd_destroy_client(other) == WD_BAD_CLIENT);
}

static void churn(const char *address, const char *fingerprint, int n) {
    for (int i = 0; i < n; i++) {
        wd_client c = connect_to(address, fingerprint, 0);
        if (i % 3 == 0) wd_update(c, seconds());
        CHECK(wd_destroy_client(c) == WD_OK && wd_destroy_client(c) == WD_BAD_CLIENT);
        if (i % 50 == 49) wd_shutdown();
    }
    wd_shutdown();
}

static double processor_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static long resident_kb(void) {
    long pages = 0, all = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%ld %ld", &all, &pages) != 2) pages = 0;
    if (f) fclose(f);
    return pages * 4;
}

/* costs plays for some seconds at 60 pictures a second, as an engine does, and prints what a picture and single calls take. */
static void costs(wd_client c) {
    enum { MOST = 4096, CALLS = 200000, READS = 2000, PICTURES = 300 };
    static wd_handle handles[MOST];
    static float positions[MOST * 3];
    unsigned char body[2048];
    wd_event e = {.size = sizeof e};
    size_t n = 0, live = 0;
    double moment, calls = 0, began;
    for (int picture = 0; picture < PICTURES; pause_ms(1000 / 60)) {
        began = seconds();
        CHECK(wd_update(c, began) == WD_OK);
        while (wd_poll_event(c, &e, body, sizeof body) == WD_OK) {
        }
        if (status_of(c).state != WD_JOINED || wd_render(c, &moment) != WD_OK) continue;
        CHECK(wd_entities(c, handles, MOST, &n) == WD_OK);
        CHECK(wd_read_f32(c, YARD_COMPONENT_BODY, YARD_BODY_FIELD_POSITION, WD_RENDERED, handles, n, positions, NULL) == WD_OK);
        calls += seconds() - began;
        picture++;
    }
    CHECK(n > 0 && n < MOST);
    printf("entities %zu picture %.1f us", n, calls / PICTURES * 1e6);
    began = seconds();
    for (int i = 0; i < CALLS; i++) live += wd_lookup(c, handles[i % n]) == WD_LIVE;
    printf(" lookup %.0f ns", (seconds() - began) / CALLS * 1e9);
    CHECK(live == CALLS);
    began = seconds();
    for (int i = 0; i < READS; i++)
        CHECK(wd_read_f32(c, YARD_COMPONENT_BODY, YARD_BODY_FIELD_POSITION, WD_RENDERED, handles, n, positions, NULL) == WD_OK);
    printf(" read %.1f us resident %ld kB\n", (seconds() - began) / READS * 1e6, resident_kb());
}

/* crowd plays with n clients at 20 pictures a second, and prints what they cost from the moment that all have drawn. */
static void crowd(const char *address, const char *fingerprint, int n, int pictures) {
    enum { MOST = 4096 };
    static wd_handle handles[MOST];
    static float positions[MOST * 3];
    unsigned char body[2048];
    wd_event e = {.size = sizeof e};
    wd_client *clients = calloc((size_t)n, sizeof *clients);
    uint64_t applied = 0;
    double began = 0;
    CHECK(clients);
    for (int i = 0; i < n; i++) clients[i] = connect_to(address, fingerprint, 0);
    for (int picture = -1; picture < pictures; pause_ms(50)) {
        int drawn = 0;
        uint64_t sum = 0;
        for (int i = 0; i < n; i++) {
            wd_client c = clients[i];
            size_t count = 0;
            CHECK(wd_update(c, seconds()) == WD_OK);
            while (wd_poll_event(c, &e, body, sizeof body) == WD_OK) {
            }
            if (wd_render(c, NULL) != WD_OK) continue;
            CHECK(wd_entities(c, handles, MOST, &count) == WD_OK && count < MOST);
            CHECK(wd_read_f32(c, YARD_COMPONENT_BODY, YARD_BODY_FIELD_POSITION, WD_RENDERED, handles, count, positions, NULL) == WD_OK);
            sum += status_of(c).snapshots;
            drawn++;
        }
        if (drawn < n || (picture == pictures - 1 && sum == applied)) continue; /* the server may be late */
        if (picture < 0) applied = sum, began = processor_seconds();
        if (++picture == pictures) printf("processor %.0f ms snapshots %llu resident %ld kB\n", (processor_seconds() - began) * 1e3, (unsigned long long)(sum - applied), resident_kb());
    }
    free(clients);
}

int main(int argc, char **argv) {
    CHECK(argc >= 4);
    CHECK(wd_version() == WD_VERSION);
    const char *what = argv[1], *address = argv[2], *fingerprint = argv[3];
    if (strcmp(what, "churn") == 0) {
        int n = argc > 4 ? atoi(argv[4]) : 100;
        churn(address, fingerprint, n / 4);
        long before = resident_kb();
        churn(address, fingerprint, n);
        printf("resident %ld kB, then %ld kB\n", before, resident_kb());
        return 0;
    }
    if (strcmp(what, "crowd") == 0) {
        CHECK(argc == 6);
        crowd(address, fingerprint, atoi(argv[4]), atoi(argv[5]));
        wd_shutdown();
        return 0;
    }
    if (strcmp(what, "costs") == 0) {
        double began = seconds();
        wd_client c = connect_to(address, fingerprint, 0);
        printf("create %.1f ms ", (seconds() - began) * 1e3);
        costs(c);
        wd_shutdown();
        return 0;
    }
#ifdef __SSE__
    unsigned fp = _mm_getcsr() | 0x8040; /* FTZ and DAZ, as engines set them */
    if (strcmp(what, "ftz") == 0) _mm_setcsr(fp);
#endif
    wd_client c = connect_to(address, fingerprint, WD_UPDATES);
    CHECK(status_of(c).state == WD_CONNECTING && wd_lookup(c, 1) == WD_PENDING);
    play(c);
    rest(c);
    print_texts(c);
    hostile(c);
#ifdef __SSE__
    if (strcmp(what, "ftz") == 0) CHECK((_mm_getcsr() & 0xffc0) == (fp & 0xffc0));
#endif
    CHECK(wd_destroy_client(c) == WD_OK && wd_destroy_client(c) == WD_BAD_CLIENT);
    CHECK(wd_update(c, seconds()) == WD_BAD_CLIENT && wd_lookup(c, 1) == WD_BAD_CLIENT);
    wd_shutdown();
    wd_shutdown();
    free(seen);
    printf("end\n");
    return 0;
}
