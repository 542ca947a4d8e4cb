// Package fieldrender draws effects, so that their authors see what they have
// written: a slice of the field as colours and arrows, and particles that are
// carried through it.
//
// # Terms
//
// A view is what is looked at: a plane through the effect, a region of it, a
// moment, and parameters. A panel is the drawn region. Its pixels are coloured by
// the magnitude of the whole vector; the arrows are the part of it that lies in
// the plane. Where the field goes mostly through the plane there is a ring in
// place of an arrow: with a dot where it comes towards the viewer, with a cross
// where it goes away. A dashed line is the box that the effect declares: whatever
// shows outside of it is lost in a world, which leaves the effect out there. A
// trace is the way that a particle took of late.
//
//	         right   up     the viewer is at
//	xz       +x      -z     +y, above: as on a map
//	xy       +x      +y     +z
//	zy       +z      +y     -x
//
//	┌──────────────────────────────┐
//	│ whirl                        │  name
//	│ xz at y = 20 m, time 0 s     │  view, parameters
//	│    z [m]                     │
//	│   -10 ┌─────────────┐  ▓ 30  │
//	│     0 │    panel    │  ▒ 20  │  scale
//	│    10 └─────────────┘  ░  0  │
//	│      -10     0     10  x [m] │
//	└──────────────────────────────┘
//
// # Invariants
//
//   - P1: the same program and the same view make the same bytes on every machine.
//     Products are rounded before they are added to anything (but halves, which are
//     exact), shapes are drawn in whole numbers, letters are bitmaps, and randomness
//     has a fixed seed.
//   - P2: a view that Check lets pass is drawn in bounded time and memory,
//     whatever the program.
package fieldrender
