// Package replication decides what each viewer is sent of the world, and
// remembers what each viewer knows of it.
//
// Terms. A frame is the quantised state of the world at one tick, made once
// for all viewers. A viewer is one session's point of view. Its interest set
// is what it should know; a snapshot is what it is sent of one frame. A
// baseline is the acknowledged state of a row that a later one is coded against.
// Structure is enter, leave and destroy: reliable, ordered and numbered. A row
// is dormant when its newest state is acknowledged.
//
//	world.Step ──► AfterStep: deaths ──► grid, changes
//	world (dirty slots) ──► Capture ──► frame (one, shared, read-only)
//	frame ──► grid, changes, rules ──► interest
//	interest ──► enters, leaves, destroys ───────────────────► structure
//	      └─► rows not dormant ──► priority ──► budget ──────► datagrams
//	input datagram ──► Acknowledge ──► baselines, losses
//
// Invariants, cited in code and tests:
//
//	R1 A viewer row's handle is the handle of the frame's tenant of that slot.
//	R2 A slot is known, being that of a member of the interest set or in the
//	   hidden set but not both, if and only if the client was ever sent the
//	   handle of its present tenant (H3).
//	R3 A row's baseline is a state that the client has applied (H6): the Enter
//	   record, or a snapshot that it acknowledged.
//	   Both that are named are still among the states that the client keeps.
//	R4 A datagram names the number of structure records written before it, and
//	   every row in it was entered by one of those (H1).
//	R5 A destroyed handle whose slot is known yields exactly one Destroy
//	   record, and the slot is unknown from then on (H3).
//	R6 A row that is not in the active list is dormant: the client has its
//	   newest state and set of components.
//	R7 What only owners are sent of an entity is in no byte for a viewer that
//	   does not own it, and its client was told at the Enter which it is. What
//	   everybody is sent does not depend on it.
//	R8 Structure that was sent and is not acknowledged is kept, or the viewer
//	   cannot go on over another connection: nothing is missing in between, and
//	   nothing that stands on it comes before it.
//	R9 What a viewer is sent depends on its own past, the frame and the world
//	   alone: not on other viewers, nor on who makes its snapshots.
//	R10 What a viewer answers about a handle depends on what its client was sent,
//	   and is what the client will answer itself once it has applied that: other
//	   entities' existence, death and reuse of slots never show.
//
// H1 to H6 are the invariants of handles across the network; replication/wire's
// PROTOCOL.md states the client's half of them.
package replication
