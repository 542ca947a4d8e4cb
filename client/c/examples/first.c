/* The first program: it connects to a server, and draws the entities around its own one, @. README.md says how to build it. */
#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#include <string.h>
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
    char text[256], map[23][81]; /* a character is a metre wide and two high, as seen from above */
    unsigned gone = 0;
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
        wd_status status = {.size = sizeof status};
        float own[3] = {0};
        size_t n = 0;

        if (wd_update(client, now()) == WD_ENDED) {
            wd_text(client, WD_TEXT_ERROR, text, sizeof text);
            fprintf(stderr, "%s\n", text);
            return 1;
        }
        while (wd_poll_event(client, &event, NULL, 0) == WD_OK) gone += event.type == WD_EVENT_DESTROY;

        if (wd_render(client, NULL) == WD_OK && picture % 6 == 0) { /* draw the moment that this picture shows */
            wd_get_status(client, &status);
            wd_entities(client, handles, MOST, &n);
            if (n > MOST) n = MOST;
            wd_read_f32(client, (uint32_t)body, (uint32_t)position, WD_RENDERED, handles, n, positions[0], NULL);
            wd_read_f32(client, (uint32_t)body, (uint32_t)position, WD_RENDERED, &status.controlled, 1, own, NULL);
            memset(map, ' ', sizeof map);
            for (size_t i = 0; i < n; i++) {
                float x = positions[i][0] - own[0] + 40, z = (positions[i][2] - own[2]) / 2 + 11;
                if (x >= 0 && x < 80 && z >= 0 && z < 23) map[(int)z][(int)x] = handles[i] == status.controlled ? '@' : 'o';
            }
            printf("\033[H\033[J%zu entities in view, %u gone for good\n", n, gone);
            for (int row = 0; row < 23; row++) printf("%.80s\n", map[row]);
        }
        nanosleep(&frame, NULL);
    }
    wd_destroy_client(client);
    wd_shutdown();
    return 0;
}
