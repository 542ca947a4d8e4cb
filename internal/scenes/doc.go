// Package scenes reads world files and builds worlds from them. Tests, benchmarks,
// the demo and the bots share the embedded ones, "storm" and "calm".
//
//	storm.yaml --Parse--> File --Build--> Scene{World, Join, Steer, Poke, Leave}
//	    |                  ^
//	    +- mistakes: FileError{line, column, what was expected}
//
// # World files: the reference for operators
//
// A world file is one YAML mapping in UTF-8, at most 1 MiB. Unknown keys
// and values of another type are errors: nothing is converted. Anchors, aliases, merge keys and tags are rejected. Lengths are in
// metres, y is up, the ground is y = 0; times are in seconds, masses in
// kilograms. [x, y, z] is a list of three numbers. Keys without a
// default are required.
//
//	key                       default          meaning
//	name                                       name of the world: letters, digits, - and _
//	seed                      0                random seed, 0 to 2^64-1
//	tick_hz                   60               steps per second, 1 to 240
//	snapshot_hz               20               snapshots per second and client, at most tick_hz
//	bounds                    [512, 256, 512]  the world is -x..x, 0..y, -z..z
//	gravity                   9.81             m/s² downwards; 0: none
//	cell_metres               8                edge of a cell of the search grid, about a
//	                                           fifth of enter_radius
//	limits.max_entities       65536            at least all that may live at once: spawns,
//	                                           emitters at their maximum, and max_players
//	limits.max_players        256              maximum number of concurrent clients
//	interest.enter_radius     40               an avatar sees entities that come within this radius
//	interest.leave_radius     48               until they are farther away than this
//	budget_bytes_per_second   65536            maximum bandwidth per client
//	kinds                                      mapping: name of a kind -> see Kinds
//	effects                   none             mapping: name of an effect -> see Effects
//	spawns                    none             list: entities present at the start
//	emitters                  none             list: sources of short-lived entities
//	players                                    the entities that clients control
//
// A region is a box inside the bounds:
//
//	region: {min: [x, y, z], max: [x, y, z]}
//
// # Kinds
//
//	priority                  1                weight among entities waiting to be sent to a client
//	body                      none             omit it for entities without a position, which
//	                                           spawns, emitters and players cannot use
//	body.mass                 1                kg
//	body.drag                 0                1/s: how fast it takes on the velocity of the wind
//	body.radius               0.5              height of its resting centre above the ground
//	body.friction             0.5              on the ground
//	body.restitution          0                0 to 1: share of speed kept in a bounce
//	body.kinematic            false            true: moved by its player only, not by forces
//
// # Effects
//
// An effect is a force field in the text form of package field. Points are relative
// to its centre. A moving effect wakes what it reaches, so its text must declare a
// box.
//
//	mode                                       wind: output is a velocity of the air in m/s,
//	                                           acting on bodies with drag; acceleration: m/s²
//	text                                       the program, as a literal block: `text: |`;
//	                                           it must use each parameter that it declares
//	shipped                   none             alternatively, the name of an effect that
//	                                           comes with package field: explosion, gust,
//	                                           storm_cell, updraft, whirl or wind
//	center                    [0, 0, 0]        its position, or the centre of its orbit
//	params                    the text's       mapping: parameter -> a number (of a vector: all
//	                                           four parts), [x, y, z] or [x, y, z, w]; within
//	                                           the range that the effect gives it
//	orbit.radius              0                the effect moves on a horizontal circle
//	orbit.period_s            60               seconds per turn; negative: reverse direction
//	orbit.phase               0                0 to 1: starting point of the turn
//	pulse.per_second          0                the effect appears this often instead of staying,
//	pulse.life_s                               acts for this long,
//	pulse.speed               0                drifts at this speed in a random direction,
//	pulse.region                               and starts at a random place of this region
//
// # Spawns, emitters, players
//
//	spawns[].kind                              a kind with a body
//	spawns[].count            0                this many, at random places of
//	spawns[].region                            this region; or, instead of both:
//	spawns[].grid.count                        [nx, ny, nz] entities in rows
//	spawns[].grid.spacing     1                distance in metres
//	spawns[].grid.at          [0, 0, 0]        first position; rows along +x, +y, +z
//
//	emitters[].kind                            a kind with a body
//	emitters[].per_second     0                spawns per second, at most 10000
//	emitters[].life_s                          [shortest, longest] life
//	emitters[].speed          [0, 0]           [slowest, fastest], in a random upward direction
//	emitters[].region                          where they appear
//
//	players.kind                               a kind with a body
//	players.speed             6                m/s at full input
//	players.poke              6                m/s upwards that a poke gives its target
//	players.region                             where avatars appear
//
// # An example
//
//	name: meadow
//	seed: 1
//	bounds: [64, 32, 64]
//	kinds:
//	  ball:
//	    body: {mass: 2, drag: 0.8, radius: 0.3, friction: 0.5, restitution: 0.6}
//	  avatar:
//	    priority: 4
//	    body: {mass: 80, radius: 0.9, kinematic: true}
//	effects:
//	  breeze:
//	    mode: wind
//	    params: {velocity: [3, 0, 0]}
//	    text: |
//	      param velocity = (1, 0, 0)
//	      output += velocity
//	spawns:
//	  - kind: ball
//	    count: 100
//	    region: {min: [-30, 1, -30], max: [30, 5, 30]}
//	players:
//	  kind: avatar
//	  region: {min: [-10, 0.9, -10], max: [10, 0.9, 10]}
//
// # Input and commands
//
// A client's input for one tick is two signed bytes, x and z, in 1/127 of full
// speed; DecodeSteer decodes it. The command "poke" names an entity; its optional
// argument, a msgpack uint64, is the identity that the client expects. Scene.Poke
// executes it.
//
// # Invariants
//
//	S1  A file determines the world: the same state hash after the same steps and
//	    calls, on every machine. All randomness comes from world.Rand.
//	S2  Every live entity of a scene carries IdentityOf(handle, seed) from its spawn
//	    on.
//	S3  Everything that may live at once fits: spawns, emitters at their maximum and
//	    max_players together do not exceed max_entities.
//	S4  Rejecting a file takes bounded time, memory and stack; see limits.go. No part
//	    of an invalid file is built.
//	S5  A mistake is reported at its line and column, also inside an effect's text.
package scenes
