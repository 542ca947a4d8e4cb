/* The first program: it connects to a server, and prints where the entities are. README.md says how to build it. */
#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#include <time.h>

#include <worldd.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv) {
    enum { MOST = 1024 };
    static wd_handle handles[MOST];
    static float positions[MOST][3];
    char text[256];
    wd_client client;

    if (argc < 3) {
        fprintf(stderr, "usage: first HOST:PORT FINGERPRINT\n");
        return 2;
    }
    wd_client_def def = wd_default_client_def();
    def.address = argv[1];
    def.fingerprint = argv[2];
    if (wd_create_client(&def, &client, text, sizeof text) != WD_OK) {
        fprintf(stderr, "%s\n", text);
        return 1;
    }
    int body = wd_find(client, WD_COMPONENT, "body");
    int position = wd_find_field(client, (uint32_t)body, "Position");

    for (int picture = 0; picture < 600; picture++) { /* ten seconds of a game */
        struct timespec frame = {0, 16666667};
        wd_event event = {.size = sizeof event};
        size_t n = 0;

        if (wd_update(client, now()) == WD_ENDED) {
            wd_text(client, WD_TEXT_ERROR, text, sizeof text);
            fprintf(stderr, "%s\n", text);
            return 1;
        }
        while (wd_poll_event(client, &event, NULL, 0) == WD_OK)
            if (event.type == WD_EVENT_DESTROY) printf("%016llx is gone for good\n", (unsigned long long)event.handle);

        if (wd_render(client, NULL) == WD_OK) { /* draw the moment that this picture shows */
            wd_entities(client, handles, MOST, &n);
            if (n > MOST) n = MOST;
            wd_read_f32(client, (uint32_t)body, (uint32_t)position, WD_RENDERED, handles, n, positions[0], NULL);
            if (n > 0 && picture % 60 == 0)
                printf("%zu entities; %016llx is at %.2f %.2f %.2f\n", n, (unsigned long long)handles[0], positions[0][0], positions[0][1],
                       positions[0][2]);
        }
        nanosleep(&frame, NULL);
    }
    wd_destroy_client(client);
    wd_shutdown();
    return 0;
}
