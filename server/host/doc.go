// Package host makes a program of a game: a server with an operator's tools, a demo, and the
// tools of a developer.
//
//	func main() { host.Main(host.Definition{Name: "arena", About: "Ships that shoot.", New: newArena}) }
//
// TUTORIAL.md of server/host/examples/coins builds such a game in three steps. Its components,
// messages and kinds are defined once for server and clients, as the doc of replication/schema shows.
//
//	arena serve --listen :4433 --image world.image     host the world
//	arena demo --bots 50 --duration 60s                run a server and bots that check it
//	arena loadtest --addr HOST:PORT --fail 'x>1'       load a running server with bots
//	arena check                                        report contradictions of world, schema and rules
//	arena check --determinism                          also name a system that makes ticks unrepeatable
//	arena replay my.recording                          replay a recording and compare
//	arena train my.recording --out my.tables           train coding tables
//	arena inspect my.recording                         report the size of fields
//	arena schema --lang ts                             print the schema that clients receive
//	arena watch 127.0.0.1:4433 --insecure-dev          show what a server sends, by name
//	arena image info|list|verify|migrate               describe, check and migrate saved worlds
//	arena cluster status|move|drain|forget|adopt       show and steer a cluster of servers
//	arena health --admin 127.0.0.1:4434                ask whether the worlds tick, for supervisors
//	arena identity next.pem                            make or keep a certificate
//	arena token new|issue                              create keys and users' tokens
//	arena help serve                                   explain a command
//	arena version
//
// Flags may also be set in the environment, as ARENA_LISTEN and so on (empty variables are
// ignored). serve, demo and loadtest also read them from the JSON file of --config. Flags
// override the environment, which overrides the file, which overrides the game's WorldConfig,
// which overrides the defaults. OPERATING.md of cmd/worldd describes all flags.
//
//	flags, variables ──► Definition.New(Options) ──► Instance ──► server.Server ══ QUIC
//	    demo: the same, on a free loopback port
//	      └─ stdin, stdout ─► bots (a child process) ══ QUIC ══►
//
// A recording holds the changes that sessions and commands made to the world. The commands
// replay, inspect and train run the world's systems again, without sessions, so rules must
// depend on the world alone. Keep their state in components, which need not be in the Schema,
// and take randomness from World.Rand. Find entities by queries, not by handles stored
// elsewhere. server/host/examples/arena is an example.
//
// With Definition.Rooms the program serves many rooms, each with a world that New makes.
// Options.Room names the room, and has the range of generations for world.Config. Session.Move
// moves a player to another room. The example of server.RoomsConfig has a lobby and matches.
//
// Definition.Attach receives the server: for signals to rooms, and periodic work outside the worlds.
// Definition.AdminRoutes and Collectors are the game's own pages and metrics on the admin port. Periodic work
// inside a world is a system of the world.
//
// On SIGHUP, serve reloads the game's limits (Instance.Reload), the certificate, the token
// keys, the bans, and the admin port's access. A file that cannot be loaded is logged and
// changes nothing. SIGTERM and SIGINT stop serve after notifying all clients.
//
// Exit status: 0 for success; 1 for failure; 2 for a wrong command line, file or definition, in
// which case nothing was started. Success of demo means that every bot connected, none failed
// and no handle was confused.
package host
