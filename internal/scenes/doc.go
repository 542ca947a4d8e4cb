// Package scenes reads world files and makes worlds of them. The embedded ones,
// "storm" and "calm", are what tests, benchmarks, the demo and the bots share.
//
//	storm.yaml --Parse--> File --Build--> Scene{World, Join, Steer, Poke, Leave}
//	    |                  ^
//	    +- mistakes: FileError{line, column, what was expected}
//
// # World files: the reference for operators
//
// A world file is one YAML mapping in UTF-8, at most 1 MiB. Keys that are not
// in this reference are mistakes, and so are values of another type: nothing is
// converted. Anchors, aliases, merge keys and tags are refused. Lengths are in
// metres, y is up, the ground is y = 0; times are in seconds, masses in
// kilograms. [x, y, z] is a list of three numbers. What has no default must be
// there.
//
//	key                       default          what it is
//	name                                       of the world: letters, digits, - and _
//	seed                      0                of all randomness, 0 to 2^64-1
//	tick_hz                   60               steps a second, 1 to 240
//	snapshot_hz               20               snapshots a second to each client, at most tick_hz
//	bounds                    [512, 256, 512]  the world is -x..x, 0..y, -z..z
//	gravity                   9.81             m/s² downwards; 0: none
//	cell_metres               8                edge of a cell of the search grid, about a
//	                                           fifth of enter_radius
//	limits.max_entities       65536            must hold all that may live at once: spawns,
//	                                           emitters at their fullest, and max_players
//	limits.max_players        256              clients that may play at once
//	interest.enter_radius     40               what comes nearer to an avatar is shown to it
//	interest.leave_radius     48               until it is farther than this
//	budget_bytes_per_second   65536            most that one client is sent
//	kinds                                      mapping: name of a kind -> see Kinds
//	effects                   none             mapping: name of an effect -> see Effects
//	spawns                    none             list: what stands there from the start
//	emitters                  none             list: what is spawned all the time
//	players                                    what a client steers
//
// A region, wherever one is asked for, is a box inside the bounds:
//
//	region: {min: [x, y, z], max: [x, y, z]}
//
// # Kinds
//
//	priority                  1                weight among what waits to be sent to a client
//	body                      none             leave it out for a thing without a place, which
//	                                           spawns, emitters and players cannot use
//	body.mass                 1                kg
//	body.drag                 0                1/s: how fast it takes on the velocity of the wind
//	body.radius               0.5              its centre rests that high above the ground
//	body.friction             0.5              on the ground
//	body.restitution          0                0 to 1: the speed that a bounce keeps
//	body.kinematic            false            true: no force moves it, only its player does
//
// # Effects
//
// An effect is a field of force, written in the text form of package field. It
// sees points relative to its centre. One that moves must declare a box in its
// text, because it wakes what it comes to.
//
//	mode                                       wind: output is a velocity of the air in m/s,
//	                                           felt by what has drag; acceleration: m/s²
//	text                                       the program, as a literal block: `text: |`
//	shipped                   none             instead of it, the name of an effect that
//	                                           comes with package field: explosion, gust,
//	                                           storm_cell, updraft, whirl or wind
//	center                    [0, 0, 0]        where it is, or the middle of its orbit
//	params                    the text's       mapping: parameter -> a number (of a vector: all
//	                                           four parts), [x, y, z] or [x, y, z, w]; within
//	                                           the range that the effect gives it
//	orbit.radius              0                the effect runs on a level circle
//	orbit.period_s            60               seconds a turn; negative: the other way round
//	orbit.phase               0                0 to 1: where in its turn it begins
//	pulse.per_second          0                the effect appears so often, instead of staying,
//	pulse.life_s                               acts for so long,
//	pulse.speed               0                drifts at this speed, each in its own direction,
//	pulse.region                               and begins at a random place of this region
//
// # Spawns, emitters, players
//
//	spawns[].kind                              a kind with a body
//	spawns[].count            0                so many, at random places of
//	spawns[].region                            this region; or, instead of both,
//	spawns[].grid.count                        [nx, ny, nz] of them in rows
//	spawns[].grid.spacing     1                that far apart
//	spawns[].grid.at          [0, 0, 0]        beginning here, along +x, +y, +z
//
//	emitters[].kind                            a kind with a body
//	emitters[].per_second     0                spawned a second, at most 10000
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
// The input of a client for one tick is two bytes, x and z, each a signed number
// in 1/127 of full speed; DecodeSteer reads it. The command "poke" names an
// entity, and may say as its argument, a msgpack uint64, which identity it is
// believed to have; Scene.Poke does it.
//
// # Invariants
//
//	S1  A file gives one world: the same state hash after the same steps and the
//	    same calls, on every machine. All chance is drawn from world.Rand.
//	S2  Every live entity of a scene carries IdentityOf(handle, seed), from the
//	    moment of its spawn on.
//	S3  Whatever may live at once fits: spawns, emitters at their fullest and
//	    max_players together are not above max_entities.
//	S4  No bytes cost more than a bounded time, memory and stack to refuse; see
//	    limits.go. Nothing of a file with a mistake is built.
//	S5  A mistake is shown at the line and column where it stands, also one
//	    inside an effect's text.
package scenes
