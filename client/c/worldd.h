/* worldd.h: the client of a worldd server for engines, in C99. README.md beside this file has a first program.
 *
 * THREADS    A client belongs to one thread at a time: call its functions from the thread that draws. Different clients
 *            may have different threads. A call while another thread is inside a call for the same client does nothing
 *            and returns WD_BUSY. The library has threads of its own, which never call the host.
 * CALLBACKS  None, but for the step function of wd_predict, which runs inside wd_update and wd_set_input, on their thread.
 * BLOCKING   Only wd_shutdown blocks. Connecting, reconnecting and leaving proceed beside the calls.
 * MEMORY     Everything that is passed in is copied before a call returns. Everything that comes out is written to memory of
 *            the caller. The library hands out no pointer of its own but the constant texts of wd_result_name, and keeps
 *            none of the host but the step function and the `user` of wd_predict. Its own memory is that of a Go process:
 *            a heap beside malloc's, bounded by wd_client_def.max_bytes and max_events and returned to the system in the
 *            background. So there are no allocator hooks: no allocation is ever the host's to free.
 * STRUCTS    A struct that begins with `size` grows in later versions. The caller sets size to its sizeof; the library
 *            reads and writes no more than that. Zero is the default of every other member. No struct has hidden padding.
 * TEXTS      UTF-8, ended by a zero byte. A function with a buffer and its capacity writes at most capacity bytes, always with
 *            the zero byte if capacity > 0, and returns the length of the whole text without it, as snprintf does. The
 *            buffer may be NULL if capacity is 0.
 * ERRORS     Results below 0 are errors, and the call did nothing. wd_text(c, WD_TEXT_ERROR, ...) says whose fault it is and
 *            what to do. Why a session ended is a code of PROTOCOL.md, section 13: wd_status.code.
 * HANDLES    A wd_handle names an entity on every machine and for all time: 32 bits of index below 32 bits of generation;
 *            0 is none. Keep handles in tables, saves and scripts: wd_lookup always tells the truth about them.
 * NUMBERS    Little- or big-endian as the host is. The library computes with the default floating-point environment and
 *            restores the caller's (rounding, FTZ, DAZ) before it returns.
 * RELOADING  Destroy the clients and call wd_shutdown before an editor reloads its scripts. The library itself stays
 *            loaded: it cannot be unloaded, and dlclose has no effect. It does not survive fork: call it in one process.
 */
#ifndef WORLDD_H
#define WORLDD_H

#include <stddef.h>
#include <stdint.h>

/* The version of this interface, by semver: a program runs with every library of the same major version that is not older. */
#define WD_VERSION_MAJOR 0
#define WD_VERSION_MINOR 4
#define WD_VERSION_PATCH 0
#define WD_VERSION (WD_VERSION_MAJOR * 1000000 + WD_VERSION_MINOR * 1000 + WD_VERSION_PATCH)

#ifndef WD_API
#if defined(_WIN32) && defined(WD_BUILD)
#define WD_API __declspec(dllexport)
#elif defined(_WIN32) && !defined(WD_STATIC)
#define WD_API __declspec(dllimport)
#elif defined(__GNUC__)
#define WD_API __attribute__((visibility("default")))
#else
#define WD_API
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* A client, by value. {0} is none. The id of a destroyed client is never used again: calls with it return WD_BAD_CLIENT. */
typedef struct wd_client {
    uint64_t id;
} wd_client;

typedef uint64_t wd_handle;

/* The result of a call. */
typedef int32_t wd_result;
enum {
    WD_OK = 0,
    WD_NONE = 1,          /* nothing there: no further event, no entity, no item of this name */
    WD_BAD_CLIENT = -1,   /* the client was destroyed, or never created */
    WD_BAD_ARGUMENT = -2, /* a NULL pointer, an unknown number, or a count above WD_MAX_COUNT */
    WD_BAD_SIZE = -3,     /* a struct or record has another size than the schema gives it, or a buffer is too small */
    WD_NOT_JOINED = -4,   /* not connected: again when wd_status.state is WD_JOINED */
    WD_BUSY = -5,         /* another thread, or an outer call, is inside a call for this client */
    WD_ENDED = -6,        /* the client has ended: only reading, and destroying it, is useful */
    WD_REFUSED = -7,      /* the command or input cannot be sent: WD_TEXT_ERROR says why */
    WD_FAULT = -8         /* a defect of the library: the client has ended, the process continues */
};

/* The most elements of one call. */
#define WD_MAX_COUNT (1 << 24)

/* The state of a connection. */
enum {
    WD_CONNECTING = 0,   /* wd_update makes progress */
    WD_JOINED = 1,       /* the server has sent its Welcome */
    WD_RECONNECTING = 2, /* the connection was lost; the library replaces it */
    WD_ENDED_STATE = 3   /* final */
};

/* A verdict on a handle. */
enum {
    WD_PENDING = 0,     /* not here yet, or never issued */
    WD_LIVE = 1,        /* in view */
    WD_HIDDEN = 2,      /* out of view; it may well live */
    WD_STALE = 3,       /* destroyed; final */
    WD_PROVISIONAL = 4, /* of wd_take_provisional, before the answer */
    WD_LACKING = 5      /* bulk reads only: in view, without the component */
};

/* Flags of wd_client_def. */
enum {
    WD_INSECURE_DEV = 1 << 0,  /* accepts any certificate: for development on one machine */
    WD_WEBSOCKET = 1 << 1,     /* also tries TCP if UDP is blocked; the server must serve the web */
    WD_SIMULATE = 1 << 2,      /* computes the motion of bodies of exact kinds: the server's bits at every tick, for a fifth of the bytes */
    WD_STRICT_SCHEMA = 1 << 3, /* ends if the server's schema differs from the program's */
    WD_UPDATES = 1 << 4        /* also makes WD_EVENT_UPDATE */
};

/* How to connect. Only size and address are required. */
typedef struct wd_client_def {
    uint32_t size;             /* sizeof(wd_client_def) */
    uint32_t flags;            /* WD_INSECURE_DEV ... */
    const char *address;       /* "host:port" */
    const char *more_addresses; /* of the same game, with commas between them: tried if the first fails */
    const char *fingerprint;   /* hex SHA-256 of the server's certificate; NULL: the system's authorities decide */
    const char *schema;        /* the text in the header that `worldd schema --lang c` wrote; NULL: the component "body" alone */
    const char *name;          /* for the server's logs */
    const char *room;          /* a name or query; NULL: the default one */
    const char *version;       /* of the game this program is built for, like "1.10.0" */
    const char *min_server;    /* the oldest version of the server's game to accept */
    const uint8_t *token;      /* connect token, token_size bytes */
    size_t token_size;
    uint64_t epoch;            /* with which the caller's handles were issued; 0: it has none */
    double give_up;            /* seconds of reconnecting; 0: 60; negative: never reconnects */
    uint64_t max_bytes;        /* of the replica; 0: 256 MiB */
    uint32_t max_entities;     /* in view; 0: 65,536 */
    uint32_t max_events;       /* waiting for wd_poll_event; 0: 262,144 */
} wd_client_def;

/* A snapshot of a client. */
typedef struct wd_status {
    uint32_t size;
    int32_t state;         /* WD_CONNECTING ... */
    int32_t code;          /* why the client has ended or lost its connection: PROTOCOL.md, section 13; 0: it has not */
    uint32_t tick;         /* of the newest snapshot; 0: none has come, and entities may exist, but without states */
    uint32_t tick_hz;
    uint32_t snapshot_hz;
    uint32_t entities;     /* in view */
    uint32_t applied_input; /* newest tick whose input the server has applied */
    wd_handle controlled;  /* the entity that this session controls; 0: none */
    uint64_t epoch;        /* of the world's run */
    uint64_t session;
    double render_tick;    /* the moment of the newest wd_render, in ticks */
    double round_trip;     /* seconds */
    double delay;          /* how far wd_render lags behind the server, seconds */
    uint64_t bytes_received;
    uint64_t memory;       /* of the replica, bytes */
    uint64_t snapshots;    /* applied */
    uint64_t events_lost;  /* because wd_poll_event was not called in time */
    uint32_t over_tcp;     /* 1: over WebSocket */
    uint32_t unanswered;   /* commands that await answers */
} wd_status;

/* What happened. */
enum {
    WD_EVENT_STATE = 1,   /* state, code, flags: the connection's state has changed */
    WD_EVENT_ENTER = 2,   /* handle: came into view, or has another set of components or owner */
    WD_EVENT_UPDATE = 3,  /* handle: the server sent a newer state (WD_UPDATES) */
    WD_EVENT_LEAVE = 4,   /* handle, reason: out of view, it may be alive */
    WD_EVENT_DESTROY = 5, /* handle, reason: the game's cause. It is stale, in view or not */
    WD_EVENT_MESSAGE = 6, /* number, body: an event of the game */
    WD_EVENT_RESULT = 7,  /* id, number, handle, verdict, code, body: the answer to a command */
    WD_EVENT_LOST = 8,    /* events were lost here: read wd_entities again */
    WD_EVENT_EFFECT = 9,  /* tick, number, handle: the step function asks for an effect of this key: start it */
    WD_EVENT_UNDO = 10    /* tick, number, handle: such an effect will not happen: stop it */
};

/* Flags of WD_EVENT_STATE. A WD_JOINED with none of them begins a new session: all entities have left. */
enum {
    WD_RESUMED = 1 << 0,   /* the same session: entities and handles are as before */
    WD_RESTORED = 1 << 1,  /* the same session, after a crash of the server: the player is as before, entities enter again */
    WD_MOVED = 1 << 2,     /* another world, such as the next level: entities and handles of the last one are stale */
    WD_NEW_WORLD = 1 << 3  /* another world that may issue the same handles again: forget all handles */
};

/* One thing that happened. */
typedef struct wd_event {
    uint32_t size;
    int32_t type;      /* WD_EVENT_STATE ... */
    uint32_t tick;     /* of the server; 0 if there is none */
    uint32_t number;   /* of the event or command in the program's schema, or an effect's key */
    wd_handle handle;  /* the entity, or the command's target */
    uint32_t id;       /* of the command: wd_do */
    int32_t code;      /* of the state or result: PROTOCOL.md, section 13; -1: the connection broke before the answer */
    int32_t verdict;   /* on the command's target */
    int32_t state;     /* WD_CONNECTING ... */
    uint32_t reason;   /* of leaving, or cause of destruction */
    uint32_t flags;    /* WD_RESUMED ... */
    uint64_t body_size; /* bytes written to the body, or needed if the result is WD_BAD_SIZE */
} wd_event;

/* Sections of a schema. */
enum { WD_COMPONENT = 1, WD_EVENT = 2, WD_COMMAND = 3, WD_KIND = 4 };

/* Types of fields. */
enum {
    WD_TYPE_BOOL = 1, /* uint8_t, 0 or 1 */
    WD_TYPE_U32 = 2,
    WD_TYPE_I32 = 3,
    WD_TYPE_U64 = 4,
    WD_TYPE_I64 = 5,
    WD_TYPE_F32 = 6,
    WD_TYPE_F64 = 7,
    WD_TYPE_HANDLE = 8, /* wd_handle */
    WD_TYPE_QUAT = 9,   /* float[4]: x, y, z, w */
    WD_TYPE_TEXT = 10,  /* char[count], with the zero byte */
    WD_TYPE_BYTES = 11  /* uint8_t[count], and a uint32_t with their number */
};

/* One field of a component. */
typedef struct wd_field {
    uint32_t size;
    int32_t type;       /* WD_TYPE_BOOL ... */
    uint32_t count;     /* elements: Position has 3, a quaternion 4, a text its most bytes and one */
    uint32_t offset;    /* in the component's record */
} wd_field;

/* One entity in view. */
typedef struct wd_entity {
    uint32_t size;
    uint32_t kind;       /* in the program's schema; UINT32_MAX: it lacks the kind */
    uint32_t tick;       /* of the newest state received */
    uint32_t components; /* a bit for each component of the program's schema */
    uint32_t owned;      /* 1: the client owns it, and receives its owner-only fields */
    uint32_t reserved;
} wd_entity;

/* When to read. */
enum {
    WD_NEWEST = 0,  /* the newest state, for game rules */
    WD_RENDERED = 1 /* the state at the moment of the newest wd_render, between two states of the server */
};

/* Texts of wd_text. */
enum {
    WD_TEXT_ERROR = 1,   /* of the newest call that failed, or why the client has ended */
    WD_TEXT_EVENT = 2,   /* of the newest event polled: why a connection was lost, the game's words on a command */
    WD_TEXT_ROOM = 3,    /* the room joined */
    WD_TEXT_SCHEMA = 4,  /* of the server */
    WD_TEXT_CHANGES = 5  /* lines that say where the server's schema differs from the program's */
};

/* The most effects of one tick. */
#define WD_MAX_EFFECTS 8

/* One call of a step function. */
typedef struct wd_step {
    uint32_t size;
    uint32_t tick;
    void *state;       /* in and out: state_size bytes, aligned to 8 */
    const void *input; /* the record of the newest input that the server has at this tick; zero before the first */
    void *user;
    uint32_t effect_count;
    uint32_t effects[WD_MAX_EFFECTS]; /* out: the keys of the tick's one-time effects, effect_count of them */
    uint32_t reserved;
} wd_step;

/* A step function moves the controlled entity by one tick, as the server's game does once per tick. It sets step->state to the state
 * after the tick, from the state before it and the input alone: a tick may be predicted many times, and outside order. It runs in
 * the default floating-point environment, must return (no longjmp, no exception), and must keep none of step's pointers. Calls for
 * its client return WD_BUSY. */
typedef void (*wd_step_function)(wd_step *step);

/* What to predict. Only snap may be 0. */
typedef struct wd_prediction_def {
    uint32_t size;             /* sizeof(wd_prediction_def) */
    uint32_t component_count;
    const uint32_t *components; /* the components that step reads or writes */
    size_t state_size;         /* sizeof the state: the components' records in the order of components, then bytes of the game's
                                * own, which are zero at first, predicted too, and not changed by the server's states */
    wd_step_function step;
    void *user;                /* for step */
    double snap;               /* larger mispredictions of vectors and numbers jump instead of blending, in their units; 0: 2 */
} wd_prediction_def;

/* The prediction's counters. */
typedef struct wd_prediction {
    uint32_t size;
    uint32_t active;    /* 1: the controlled entity is in view, and predicted */
    uint32_t predicted; /* newest tick predicted */
    uint32_t confirmed; /* newest tick whose state the server has sent */
    uint64_t agreed;    /* states of the server that equalled the prediction, to within a step of quantisation */
    uint64_t corrected; /* states of the server that differed */
    uint64_t missed;    /* of corrected: due to inputs that the server missed or applied late */
    uint64_t replayed;  /* ticks that were predicted again */
    uint64_t stalled;   /* inputs not predicted because 3 s of ticks were unconfirmed */
    uint64_t undone;    /* effects undone */
} wd_prediction;

/* wd_version returns the library's WD_VERSION. */
WD_API uint32_t wd_version(void);

/* wd_result_name returns the name of a result, like "WD_OK": a constant. */
WD_API const char *wd_result_name(wd_result r);

/* wd_default_client_def returns a def with its size set. */
WD_API wd_client_def wd_default_client_def(void);

/* wd_create_client begins to connect, and sets out. It returns at once: the state is WD_CONNECTING, and a WD_EVENT_STATE says
 * when it changes. On WD_BAD_ARGUMENT or WD_BAD_SIZE, out is {0} and error, of capacity bytes, says what is wrong with def.
 * error may be NULL. Destroy the client also if it ends. */
WD_API wd_result wd_create_client(const wd_client_def *def, wd_client *out, char *error, size_t capacity);

/* wd_destroy_client ends the session and frees the client. It does not wait for the server to notice. WD_BUSY inside another
 * call for the client, WD_BAD_CLIENT if it was destroyed before. */
WD_API wd_result wd_destroy_client(wd_client c);

/* wd_shutdown destroys all clients and waits, for less than a second, until the servers have heard of it. The library can
 * still be used. Call it before the process ends, or its scripts are reloaded. */
WD_API void wd_shutdown(void);

/* wd_update applies what has arrived, answers it, sends commands, and queues events. Call it once per picture, on a suspended
 * app too if it can: a server ends a connection that is silent for ten seconds. now is the host's time in seconds since
 * any fixed origin, such as that of the picture. It should run as fast as time; the library never lets it go back. WD_ENDED
 * once the client has ended. */
WD_API wd_result wd_update(wd_client c, double now);

/* wd_get_status fills status. It works in every state. */
WD_API wd_result wd_get_status(wd_client c, wd_status *status);

/* wd_text writes a text: WD_TEXT_ERROR ... It returns its length; 0 for none, and for a client that does not exist. */
WD_API size_t wd_text(wd_client c, int32_t which, char *buffer, size_t capacity);

/* wd_poll_event takes the oldest waiting event. A body, of a message or an answer, is written to body: a record, whose size the
 * generated header gives. WD_NONE: no event waits. WD_BAD_SIZE: the body has body_size bytes and body only capacity; the event
 * stays. body may be NULL if capacity is 0: bodies are then dropped with their events taken. */
WD_API wd_result wd_poll_event(wd_client c, wd_event *event, void *body, size_t capacity);

/* wd_render sets the moment to show in the picture that is drawn now: slightly in the past, so that the states before and after
 * it have arrived. It never goes back within a session. tick may be NULL. WD_NOT_JOINED before the first snapshots. */
WD_API wd_result wd_render(wd_client c, double *tick);

/* wd_lookup returns the verdict on a handle: WD_PENDING ..., or an error. Any value is allowed. It also answers while the
 * connection is lost, and after the client has ended. */
WD_API int32_t wd_lookup(wd_client c, wd_handle h);

/* wd_lookup_many writes the verdicts on n handles. */
WD_API wd_result wd_lookup_many(wd_client c, const wd_handle *handles, size_t n, uint8_t *verdicts);

/* wd_entities writes the handles of up to capacity entities in view, in no particular order, and sets count to how many are in
 * view. out may be NULL if capacity is 0. */
WD_API wd_result wd_entities(wd_client c, wd_handle *out, size_t capacity, size_t *count);

/* wd_get_entity fills entity. WD_NONE unless h is live. */
WD_API wd_result wd_get_entity(wd_client c, wd_handle h, wd_entity *entity);

/* wd_find returns the number that an item has in the program's schema, by its section (WD_COMPONENT ...) and name, or an error;
 * WD_BAD_ARGUMENT if there is none. The generated header has the same numbers as constants. They stay valid in every room
 * and with every version of the server: the library finds items there by name. */
WD_API int32_t wd_find(wd_client c, int32_t section, const char *name);

/* wd_find_field returns the number of a component's field by its name, like "Position" or "Aim.Pitch", or an error;
 * WD_BAD_ARGUMENT if there is none. */
WD_API int32_t wd_find_field(wd_client c, uint32_t component, const char *name);

/* wd_get_field fills field. */
WD_API wd_result wd_get_field(wd_client c, uint32_t component, uint32_t field, wd_field *out);

/* wd_read_f32 reads one field of n entities, count elements of it for each, into out, which holds n * count of them; wd_read_f64
 * and wd_read_u64 likewise. when is WD_NEWEST or WD_RENDERED. Handles may repeat, be stale, or 0: verdicts[i] says which it is,
 * and what cannot be read is 0. verdicts may be NULL. f32 and f64 read numbers and quaternions, u64 reads integers, bools and
 * handles; signed numbers are extended to 64 bits. Another type is WD_BAD_ARGUMENT. n may be 0. */
WD_API wd_result wd_read_f32(wd_client c, uint32_t component, uint32_t field, int32_t when, const wd_handle *handles, size_t n,
                             float *out, uint8_t *verdicts);
WD_API wd_result wd_read_f64(wd_client c, uint32_t component, uint32_t field, int32_t when, const wd_handle *handles, size_t n,
                             double *out, uint8_t *verdicts);
WD_API wd_result wd_read_u64(wd_client c, uint32_t component, uint32_t field, int32_t when, const wd_handle *handles, size_t n,
                             uint64_t *out, uint8_t *verdicts);

/* wd_read_records reads a component of n entities as records: the struct of the generated header, record_size bytes each, texts
 * included. See wd_read_f32. WD_BAD_SIZE if the component's record has another size. */
WD_API wd_result wd_read_records(wd_client c, uint32_t component, int32_t when, const wd_handle *handles, size_t n, void *out,
                                 size_t record_size, uint8_t *verdicts);

/* wd_do asks the server to execute a command once. target is the entity that it is about, or 0. args is the record of its arguments;
 * of a raw command, which has no record in the generated header, it is one value in msgpack, or NULL if size is 0. id may be NULL;
 * WD_EVENT_RESULT brings it back. WD_BAD_SIZE if args has another size, or more than 1,024 bytes; WD_REFUSED if the server does not have
 * the command, too many await answers, or raw args are no msgpack. */
WD_API wd_result wd_do(wd_client c, uint32_t command, wd_handle target, const void *args, size_t size, uint32_t *id);

/* wd_do_raw is wd_do for a raw command that asks for count entities: provisional has a handle of wd_take_provisional for each, taken one
 * right after the other. The game reads them from args. WD_BAD_ARGUMENT if the command is not raw and count is not 0: a record names
 * its provisional handles itself. WD_REFUSED if the handles were not taken so, or an earlier command has one. */
WD_API wd_result wd_do_raw(wd_client c, uint32_t command, wd_handle target, const void *args, size_t size, const wd_handle *provisional,
                           size_t count, uint32_t *id);

/* wd_set_input sets what the player holds down from now on: the record of the input, or any bytes, at most 64, if the schema's input is
 * raw. tick may be NULL; wd_status.applied_input reaches it once the server has applied the input. Call it once per picture, before
 * wd_update. */
WD_API wd_result wd_set_input(wd_client c, const void *input, size_t size, uint32_t *tick);

/* wd_predict predicts the controlled entity from the inputs of wd_set_input, without waiting for the server. A client has at most one
 * prediction, for all entities that it comes to control, and for its life. Call it at any time: it begins when the entity is in view.
 * WD_BAD_ARGUMENT, with WD_TEXT_ERROR, says what the schema or def lacks, WD_REFUSED that the client has a prediction. PREDICTION.md
 * beside the Go client says what the server's game must do, and how corrections are made.
 * Texts in a state are empty in the step function, and the newest in what wd_read_predicted returns. */
WD_API wd_result wd_predict(wd_client c, const wd_prediction_def *def);

/* wd_read_predicted writes the predicted state of the controlled entity, state_size bytes: with WD_NEWEST the newest, which has an
 * input's effect as soon as wd_set_input has returned, and with WD_RENDERED the one to draw at the newest wd_render, in which
 * mispredictions fade: half is gone after 80 ms. WD_NONE while nothing is predicted: draw the entity as all others. */
WD_API wd_result wd_read_predicted(wd_client c, int32_t when, void *state, size_t state_size);

/* wd_get_prediction fills prediction. WD_NONE without wd_predict. */
WD_API wd_result wd_get_prediction(wd_client c, wd_prediction *prediction);

/* wd_take_provisional sets out to a handle for an entity that the next command or input will ask for: the program can show the
 * entity at once. Its verdict is WD_PROVISIONAL before the answer; then it stands for the entity, or is stale. */
WD_API wd_result wd_take_provisional(wd_client c, wd_handle *out);

/* wd_real sets out to the handle that a provisional one stands for: 0 before the answer and if it was rejected. Any other handle
 * is unchanged. */
WD_API wd_result wd_real(wd_client c, wd_handle h, wd_handle *out);

#ifdef __cplusplus
}
#endif
#endif
