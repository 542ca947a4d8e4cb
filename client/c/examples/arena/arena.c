/* A client of the arena (server/host/examples/arena) in C with SDL2: README.md beside this file says how to build it. It flies a ship,
 * which it predicts, shoots, fires missiles that it shows before the server has made them, and shows the verdict on a handle that it
 * holds. */
#include <SDL.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h" /* arena schema --lang c */

enum { MOST = 1024, FLASHES = 64, SCALE = 10, HALF_X = 40, HALF_Z = 22, MARGIN = 20, BAR = 24, TICK_HZ = 60, SHIP_SPEED = 12 };
enum { WIDTH = 2 * (HALF_X * SCALE + MARGIN), HEIGHT = 2 * (HALF_Z * SCALE + MARGIN) + BAR };

static const SDL_Color black = {8, 12, 20, 255}, own_colour = {0, 255, 80, 255}, ship_colour = {60, 140, 255, 255},
                       missile_colour = {255, 240, 60, 255}, beam_colour = {255, 60, 60, 255}, blast_colour = {255, 150, 30, 255};

/* The colours of verdicts, in the order of their numbers: pending, live, hidden, stale, provisional. */
static const SDL_Color verdict_colours[] = {{90, 90, 90, 255}, {0, 200, 0, 255}, {0, 120, 200, 255}, {200, 0, 0, 255}, {230, 200, 0, 255}};
static const char *const verdict_names[] = {"pending", "live", "hidden", "stale", "provisional"};

/* A beam, or a blast if both ends are equal. */
typedef struct flash {
    float from[3], to[3];
    double tick;
} flash;

typedef struct game {
    wd_client client;
    SDL_Renderer *renderer;
    double tick; /* of the picture */
    int asked;   /* for a ship, over this connection and in this room */
    wd_handle own;
    wd_handle held; /* shown with its verdict */
    int held_verdict, seen_live;
    float held_at[3]; /* where the held missile began: it is drawn there while it is provisional */
    flash flashes[FLASHES];
    unsigned flash_count;
    /* The entities in view; what an entity lacks is 0. */
    wd_handle handles[MOST];
    float positions[MOST][3];
    arena_hull hulls[MOST];
    uint64_t targets[MOST]; /* of missiles */
    uint8_t is_ship[MOST], is_missile[MOST]; /* verdicts: WD_LIVE or WD_LACKING */
    size_t count;
} game;

static double seconds(void) { return (double)SDL_GetPerformanceCounter() / (double)SDL_GetPerformanceFrequency(); }

static void fail(const char *what, const char *why) {
    fprintf(stderr, "arena: %s: %s\n", what, why);
    exit(1);
}

/* move_ship moves the own ship by one tick, as Fly of game.go does on the server. The same roundings give the same bits, so compile with
 * -ffp-contract=off: a fused multiplication would round once less. */
static void move_ship(wd_step *step) {
    static const float halves[3] = {HALF_X, FLT_MAX, HALF_Z};
    arena_body *ship = step->state;
    const arena_input *stick = step->input;
    float course[3] = {stick->X, 0, stick->Z};
    float length = sqrtf(course[0] * course[0] + course[2] * course[2]);
    for (int i = 0; i < 3; i++) {
        float speed = (length > 1 ? course[i] * (1 / length) : course[i]) * SHIP_SPEED;
        float at = ship->Position[i] + speed * (1.0f / TICK_HZ);
        ship->Position[i] = fminf(fmaxf(at, -halves[i]), halves[i]);
        ship->Velocity[i] = ship->Position[i] == at ? speed : 0; /* 0 at the end of the world */
    }
}

static void predict_ship(wd_client client) {
    static const uint32_t components[] = {ARENA_COMPONENT_BODY};
    char why[256];
    wd_prediction_def def = {.size = sizeof def, .component_count = 1, .components = components, .state_size = sizeof(arena_body), .step = move_ship};
    if (wd_predict(client, &def) == WD_OK) return;
    wd_text(client, WD_TEXT_ERROR, why, sizeof why);
    fail("cannot predict", why);
}

/* do_command sends a command. Refusals are the game's: it continues. */
static void do_command(game *g, uint32_t command, const void *args, size_t size) {
    char why[256];
    if (wd_do(g->client, command, 0, args, size, NULL) < 0) {
        wd_text(g->client, WD_TEXT_ERROR, why, sizeof why);
        printf("not sent: %s\n", why);
    }
}

static void add_flash(game *g, const float from[3], const float to[3], double tick) {
    flash *f = &g->flashes[g->flash_count++ % FLASHES];
    memcpy(f->from, from, sizeof f->from);
    memcpy(f->to, to, sizeof f->to);
    f->tick = tick;
}

static void take_message(game *g, const wd_event *e, const void *body) {
    static const char *const verbs[] = {"ended", "lasered", "blew up"};
    const arena_chat_event *chat = body;
    const arena_kill_event *kill = body;
    const arena_beam_event *beam = body;
    const arena_blast_event *blast = body;
    switch (e->number) {
    case ARENA_EVENT_CHAT: printf("<%s> %s\n", chat->From, chat->Text); break;
    case ARENA_EVENT_KILL: printf("%s %s %s\n", kill->By, verbs[kill->Weapon < 3 ? kill->Weapon : 0], kill->Of); break;
    case ARENA_EVENT_BEAM: add_flash(g, beam->From, beam->To, e->tick); break;
    case ARENA_EVENT_BLAST: add_flash(g, blast->At, blast->At, e->tick); break;
    }
}

/* take_events handles what has happened since the last picture. */
static void take_events(game *g) {
    union {
        uint64_t aligned;
        unsigned char bytes[1024];
    } body;
    char text[256];
    wd_event e = {.size = sizeof e};
    while (wd_poll_event(g->client, &e, &body, sizeof body) == WD_OK) {
        switch (e.type) {
        case WD_EVENT_STATE:
            wd_text(g->client, WD_TEXT_EVENT, text, sizeof text);
            printf("%s %s\n", e.state == WD_JOINED ? "joined" : e.state == WD_RECONNECTING ? "reconnecting" : "ended", text);
            if (e.state == WD_JOINED) g->asked = 0;
            if (e.flags & WD_NEW_WORLD) g->held = 0;
            break;
        case WD_EVENT_MESSAGE: take_message(g, &e, &body); break;
        case WD_EVENT_RESULT:
            wd_text(g->client, WD_TEXT_EVENT, text, sizeof text);
            if (e.code != 0) printf("refused: %s\n", text);
            break;
        }
    }
}

/* index_of returns where an entity is in the scene, or -1. */
static int index_of(const game *g, wd_handle h) {
    for (size_t i = 0; i < g->count; i++)
        if (g->handles[i] == h && h) return (int)i;
    return -1;
}

/* read_scene reads the entities at the moment of the picture: one call for each component, whatever the number of entities. The own
 * ship is ahead of the others, where its prediction is. */
static void read_scene(game *g) {
    arena_body predicted;
    wd_status status = {.size = sizeof status};
    g->count = 0;
    wd_get_status(g->client, &status);
    g->own = status.controlled;
    if (wd_render(g->client, &g->tick) != WD_OK) return;
    wd_entities(g->client, g->handles, MOST, &g->count);
    if (g->count > MOST) g->count = MOST;
    wd_read_f32(g->client, ARENA_COMPONENT_BODY, ARENA_BODY_FIELD_POSITION, WD_RENDERED, g->handles, g->count, g->positions[0], NULL);
    wd_read_records(g->client, ARENA_COMPONENT_HULL, WD_NEWEST, g->handles, g->count, g->hulls, sizeof g->hulls[0], g->is_ship);
    wd_read_u64(g->client, ARENA_COMPONENT_SEEKER, ARENA_SEEKER_FIELD_TARGET, WD_NEWEST, g->handles, g->count, g->targets, g->is_missile);
    int own = index_of(g, g->own);
    if (own >= 0 && wd_read_predicted(g->client, WD_RENDERED, &predicted, sizeof predicted) == WD_OK)
        memcpy(g->positions[own], predicted.Position, sizeof predicted.Position);
}

/* nearest returns the ship that is nearest to the own one, or -1. */
static int nearest(const game *g, int own) {
    int best = -1;
    float least = INFINITY;
    for (size_t i = 0; i < g->count; i++) {
        float d = hypotf(g->positions[i][0] - g->positions[own][0], g->positions[i][2] - g->positions[own][2]);
        if (g->is_ship[i] == WD_LIVE && (int)i != own && d < least) best = (int)i, least = d;
    }
    return best;
}

static float aim(const game *g, int own, int target) {
    if (target < 0) return 0;
    return atan2f(g->positions[target][2] - g->positions[own][2], g->positions[target][0] - g->positions[own][0]);
}

static void shoot(game *g) {
    int own = index_of(g, g->own), target = own < 0 ? -1 : nearest(g, own);
    if (target < 0) return;
    arena_shoot_args args = {.Aim = aim(g, own, target)};
    do_command(g, ARENA_COMMAND_SHOOT, &args, sizeof args);
}

/* launch fires a missile and holds its handle: a provisional one, which stands for the missile once the server has made it. */
static void launch(game *g) {
    int own = index_of(g, g->own);
    arena_launch_args args = {0};
    if (own < 0 || wd_take_provisional(g->client, &args.Missile) != WD_OK) return;
    int target = nearest(g, own);
    args.Aim = aim(g, own, target);
    if (target >= 0) args.Target = g->handles[target];
    do_command(g, ARENA_COMMAND_LAUNCH, &args, sizeof args);
    g->held = args.Missile;
    g->held_verdict = -1;
    memcpy(g->held_at, g->positions[own], sizeof g->held_at);
}

static void colour(const game *g, SDL_Color c) { SDL_SetRenderDrawColor(g->renderer, c.r, c.g, c.b, c.a); }

static int pixel_x(const float at[3]) { return (int)lroundf((at[0] + HALF_X) * SCALE) + MARGIN; }
static int pixel_y(const float at[3]) { return (int)lroundf((at[2] + HALF_Z) * SCALE) + MARGIN; }

static void disc(const game *g, const float at[3], int radius) {
    for (int y = -radius; y <= radius; y++) {
        int half = (int)sqrtf((float)(radius * radius - y * y));
        SDL_RenderDrawLine(g->renderer, pixel_x(at) - half, pixel_y(at) + y, pixel_x(at) + half, pixel_y(at) + y);
    }
}

/* draw_held shows the verdict on the held handle as a square, and a missile that the server has not made yet. */
static void draw_held(game *g) {
    SDL_Rect box = {MARGIN, HEIGHT - BAR, BAR - 4, BAR - 4};
    int verdict = wd_lookup(g->client, g->held);
    if (!g->held || verdict < 0 || verdict > WD_PROVISIONAL) return;
    if (verdict != g->held_verdict) printf("held %016llx is %s\n", (unsigned long long)g->held, verdict_names[verdict]);
    g->held_verdict = verdict;
    colour(g, verdict_colours[verdict]);
    SDL_RenderFillRect(g->renderer, &box);
    colour(g, missile_colour);
    if (verdict == WD_PROVISIONAL) disc(g, g->held_at, 3);
}

static void draw(game *g) {
    SDL_Rect field = {MARGIN, MARGIN, 2 * HALF_X * SCALE, 2 * HALF_Z * SCALE};
    int own = index_of(g, g->own);
    colour(g, black);
    SDL_RenderClear(g->renderer);
    colour(g, verdict_colours[0]);
    SDL_RenderDrawRect(g->renderer, &field);
    for (int i = 0; i < FLASHES; i++) {
        const flash *f = &g->flashes[i];
        double age = g->tick - f->tick;
        if (f->tick == 0 || age < 0 || age > TICK_HZ / 5) continue;
        int blast = memcmp(f->from, f->to, sizeof f->from) == 0;
        colour(g, blast ? blast_colour : beam_colour);
        if (blast) disc(g, f->from, 3 * SCALE);
        else SDL_RenderDrawLine(g->renderer, pixel_x(f->from), pixel_y(f->from), pixel_x(f->to), pixel_y(f->to));
    }
    for (size_t i = 0; i < g->count; i++) {
        if (g->is_missile[i] == WD_LIVE) colour(g, missile_colour), disc(g, g->positions[i], 3);
        if (g->is_ship[i] == WD_LIVE && (int)i != own) colour(g, ship_colour), disc(g, g->positions[i], SCALE);
    }
    if (own >= 0) {
        SDL_Rect hull = {4 * MARGIN, HEIGHT - BAR, 4 * (int)g->hulls[own].Points, BAR - 4};
        colour(g, own_colour);
        disc(g, g->positions[own], SCALE);
        SDL_RenderFillRect(g->renderer, &hull);
    }
    draw_held(g);
}

/* take_keys handles the keyboard. It returns 0 when the player quits. */
static int take_keys(game *g, arena_input *stick) {
    SDL_Event e;
    while (SDL_PollEvent(&e)) {
        if (e.type == SDL_QUIT || (e.type == SDL_KEYDOWN && e.key.keysym.sym == SDLK_q)) return 0;
        if (e.type != SDL_KEYDOWN || e.key.repeat) continue;
        if (e.key.keysym.sym == SDLK_SPACE) shoot(g);
        if (e.key.keysym.sym == SDLK_m) launch(g);
        if (e.key.keysym.sym == SDLK_h && index_of(g, g->own) >= 0) { /* hold the nearest ship */
            int i = nearest(g, index_of(g, g->own));
            if (i >= 0) g->held = g->handles[i], g->held_verdict = -1;
        }
    }
    const Uint8 *down = SDL_GetKeyboardState(NULL);
    stick->X = (float)((down[SDL_SCANCODE_D] || down[SDL_SCANCODE_RIGHT]) - (down[SDL_SCANCODE_A] || down[SDL_SCANCODE_LEFT]));
    stick->Z = (float)((down[SDL_SCANCODE_S] || down[SDL_SCANCODE_DOWN]) - (down[SDL_SCANCODE_W] || down[SDL_SCANCODE_UP]));
    return 1;
}

/* dump saves the picture, and prints how well the own ship was predicted, and where it is in the picture. */
static void dump(const game *g, const char *file) {
    SDL_Surface *s = SDL_CreateRGBSurfaceWithFormat(0, WIDTH, HEIGHT, 24, SDL_PIXELFORMAT_BGR24);
    if (!s || SDL_RenderReadPixels(g->renderer, NULL, s->format->format, s->pixels, s->pitch) || SDL_SaveBMP(s, file)) fail("the picture", SDL_GetError());
    SDL_FreeSurface(s);
    wd_prediction prediction = {.size = sizeof prediction};
    wd_get_prediction(g->client, &prediction);
    printf("predicted: %llu agreed, %llu corrected, %llu of these by late inputs\n", (unsigned long long)prediction.agreed,
           (unsigned long long)prediction.corrected, (unsigned long long)prediction.missed);
    int own = index_of(g, g->own);
    printf("own %016llx at %d %d of %zu\n", (unsigned long long)g->own, pixel_x(g->positions[own]), pixel_y(g->positions[own]), g->count);
}

/* fly plays by itself: it turns every second, and fires missiles until the program has seen one that lived and is gone. Then it
 * returns 1. */
static int fly(game *g, arena_input *stick) {
    stick->X = (int)(g->tick / TICK_HZ) % 2 ? -1 : 1;
    if (g->held_verdict == WD_LIVE) g->seen_live = 1;
    if (g->held && g->held_verdict != WD_STALE) return 0;
    if (g->seen_live) return index_of(g, g->own) >= 0;
    launch(g);
    return 0;
}

/* play draws pictures until the player quits; with a file the program plays by itself, and saves its last picture there. */
static void play(game *g, const char *file) {
    static const arena_play_args take_part;
    char why[256];
    for (int done = 0;;) {
        arena_input stick = {0};
        if (!take_keys(g, &stick)) return;
        if (file) done = fly(g, &stick);
        wd_set_input(g->client, &stick, sizeof stick, NULL);
        if (wd_update(g->client, seconds()) == WD_ENDED) {
            wd_text(g->client, WD_TEXT_ERROR, why, sizeof why);
            fail("the session has ended", why);
        }
        take_events(g);
        read_scene(g);
        if (!g->asked && g->count > 0) {
            do_command(g, ARENA_COMMAND_PLAY, &take_part, sizeof take_part);
            g->asked = 1;
        }
        draw(g);
        if (done && index_of(g, g->own) >= 0) {
            dump(g, file);
            return;
        }
        SDL_RenderPresent(g->renderer);
        SDL_Delay(1000 / 60);
    }
}

int main(int argc, char **argv) {
    static game g;
    char error[256];
    if (argc != 3 && argc != 4) {
        fprintf(stderr, "usage: arena HOST:PORT FINGERPRINT [FILE.bmp]\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    wd_client_def def = wd_default_client_def();
    def.address = argv[1];
    def.fingerprint = argv[2];
    def.schema = arena_schema;
    def.name = "sdl";
    if (wd_create_client(&def, &g.client, error, sizeof error) != WD_OK) fail("cannot connect", error);
    predict_ship(g.client);
    if (SDL_Init(SDL_INIT_VIDEO)) fail("SDL", SDL_GetError());
    SDL_Window *window = SDL_CreateWindow("arena: arrows or wasd fly, space laser, m missile, h hold, q quit", SDL_WINDOWPOS_CENTERED,
                                          SDL_WINDOWPOS_CENTERED, WIDTH, HEIGHT, 0);
    g.renderer = window ? SDL_CreateRenderer(window, -1, 0) : NULL;
    if (!g.renderer) fail("SDL", SDL_GetError());
    play(&g, argv[3]);
    wd_destroy_client(g.client);
    wd_shutdown();
    SDL_Quit();
    return 0;
}
