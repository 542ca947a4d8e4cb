// Package fieldrender draws effects for their authors: a slice of the field as colours and
// arrows, and particles that move through it.
//
// # Terms
//
// A view is a plane through the effect, a region of the plane, a time, and parameters. A panel
// is the drawn region. The colour of a pixel is the magnitude of the whole vector; an arrow is
// its component in the plane. Where the field points mostly through the plane, a ring replaces
// the arrow. The ring has a dot if the field points towards the viewer, and a cross if away. A
// dashed line is the box of the effect: in a world, the effect does not act outside it. A trace
// is a particle's recent path.
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
//   - P1: the same program and view produce the same bytes on every machine. Products are
//     rounded before additions (except halves, which are exact), shapes are drawn in
//     integers, glyphs are bitmaps, and randomness has a fixed seed.
//   - P2: a view that passes Check is drawn in bounded time and memory, whatever the
//     program.
package fieldrender
