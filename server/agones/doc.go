// Package agones reports a server to Agones, which runs fleets of game servers on Kubernetes, by the REST interface of the
// sidecar in the server's pod, with net/http alone.
//
//	the server                              the sidecar, on localhost:AGONES_SDK_HTTP_PORT
//	----------                              ----------------------------------------------
//	start                                   GET /gameserver: the address for players
//	has ticked lately, each 2 s             POST /health
//	is open, and nobody needs it            POST /ready
//	has a room on demand, or sessions       POST /allocate: no rolling update and no scaling ends it
//	rooms, players                          PATCH /v1beta1/counters/rooms, players
//	has drained and saved                   POST /shutdown
//
// Each answer is bounded in bytes and time, and a sidecar that fails costs the game nothing: the calls are repeated.
package agones
