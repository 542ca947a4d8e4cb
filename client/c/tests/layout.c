/* The binary interface of worldd.h, as programs were compiled with it: a change that breaks them fails to compile here. Add
 * lines for new members; never change one within a major version. */
#include "worldd.h"

#define IS(name, condition) typedef char name##_is_as_before[(condition) ? 1 : -1]
#define AT(type, member, at) typedef char type##_##member##_is_where_it_was[offsetof(type, member) == (at) ? 1 : -1]
#define P sizeof(void *)

IS(wd_client, sizeof(wd_client) == 8);
IS(wd_handle, sizeof(wd_handle) == 8);
IS(wd_result, sizeof(wd_result) == 4);

AT(wd_client_def, address, 8);
AT(wd_client_def, more_addresses, 8 + P);
AT(wd_client_def, fingerprint, 8 + 2 * P);
AT(wd_client_def, schema, 8 + 3 * P);
AT(wd_client_def, name, 8 + 4 * P);
AT(wd_client_def, room, 8 + 5 * P);
AT(wd_client_def, version, 8 + 6 * P);
AT(wd_client_def, min_server, 8 + 7 * P);
AT(wd_client_def, token, 8 + 8 * P);
AT(wd_client_def, token_size, 8 + 9 * P);
AT(wd_client_def, epoch, 8 + 10 * P);
AT(wd_client_def, give_up, 16 + 10 * P);
AT(wd_client_def, max_bytes, 24 + 10 * P);
AT(wd_client_def, max_entities, 32 + 10 * P);
AT(wd_client_def, max_events, 36 + 10 * P);
IS(wd_client_def, sizeof(wd_client_def) >= 40 + 10 * P);

AT(wd_status, state, 4);
AT(wd_status, code, 8);
AT(wd_status, tick, 12);
AT(wd_status, applied_input, 28);
AT(wd_status, controlled, 32);
AT(wd_status, render_tick, 56);
AT(wd_status, bytes_received, 80);
AT(wd_status, unanswered, 116);
IS(wd_status, sizeof(wd_status) >= 120);

AT(wd_event, type, 4);
AT(wd_event, tick, 8);
AT(wd_event, number, 12);
AT(wd_event, handle, 16);
AT(wd_event, id, 24);
AT(wd_event, code, 28);
AT(wd_event, verdict, 32);
AT(wd_event, state, 36);
AT(wd_event, reason, 40);
AT(wd_event, flags, 44);
AT(wd_event, body_size, 48);
IS(wd_event, sizeof(wd_event) >= 56);

AT(wd_field, type, 4);
AT(wd_field, count, 8);
AT(wd_field, offset, 12);
AT(wd_entity, kind, 4);
AT(wd_entity, tick, 8);
AT(wd_entity, components, 12);
AT(wd_entity, owned, 16);
IS(wd_entity, sizeof(wd_entity) >= 24);

AT(wd_step, tick, 4);
AT(wd_step, state, 8);
AT(wd_step, input, 8 + P);
AT(wd_step, user, 8 + 2 * P);
AT(wd_step, effect_count, 8 + 3 * P);
AT(wd_step, effects, 12 + 3 * P);
IS(wd_step, sizeof(wd_step) >= 48 + 3 * P && WD_MAX_EFFECTS == 8);
AT(wd_prediction_def, component_count, 4);
AT(wd_prediction_def, components, 8);
AT(wd_prediction_def, state_size, 8 + P);
AT(wd_prediction_def, step, 8 + 2 * P);
AT(wd_prediction_def, user, 8 + 3 * P);
AT(wd_prediction_def, snap, 8 + 4 * P);
IS(wd_prediction_def, sizeof(wd_prediction_def) >= 16 + 4 * P);
AT(wd_prediction, active, 4);
AT(wd_prediction, predicted, 8);
AT(wd_prediction, confirmed, 12);
AT(wd_prediction, agreed, 16);
AT(wd_prediction, undone, 56);
IS(wd_prediction, sizeof(wd_prediction) >= 64);

IS(results, WD_OK == 0 && WD_NONE == 1 && WD_BAD_CLIENT == -1 && WD_BAD_ARGUMENT == -2 && WD_BAD_SIZE == -3 && WD_NOT_JOINED == -4);
IS(more_results, WD_BUSY == -5 && WD_ENDED == -6 && WD_REFUSED == -7 && WD_FAULT == -8);
IS(states, WD_CONNECTING == 0 && WD_JOINED == 1 && WD_RECONNECTING == 2 && WD_ENDED_STATE == 3);
IS(verdicts, WD_PENDING == 0 && WD_LIVE == 1 && WD_HIDDEN == 2 && WD_STALE == 3 && WD_PROVISIONAL == 4 && WD_LACKING == 5);
IS(events, WD_EVENT_STATE == 1 && WD_EVENT_DESTROY == 5 && WD_EVENT_MESSAGE == 6 && WD_EVENT_RESULT == 7 && WD_EVENT_LOST == 8);
IS(more_events, WD_EVENT_EFFECT == 9 && WD_EVENT_UNDO == 10);
IS(flags, WD_INSECURE_DEV == 1 && WD_WEBSOCKET == 2 && WD_SIMULATE == 4 && WD_STRICT_SCHEMA == 8 && WD_UPDATES == 16);
IS(changes, WD_RESUMED == 1 && WD_RESTORED == 2 && WD_MOVED == 4 && WD_NEW_WORLD == 8);
IS(types, WD_TYPE_BOOL == 1 && WD_TYPE_HANDLE == 8 && WD_TYPE_QUAT == 9 && WD_TYPE_TEXT == 10 && WD_TYPE_BYTES == 11);
