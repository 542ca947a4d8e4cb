/* What the programs of the tests share. */
#ifndef HOSTED_H
#define HOSTED_H
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CHECK(x)                                                              \
    do {                                                                      \
        if (!(x)) {                                                           \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #x);   \
            exit(1);                                                          \
        }                                                                     \
    } while (0)

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void pause_ms(long ms) {
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}
#endif
