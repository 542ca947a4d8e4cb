// Package replication decides what each viewer receives of the world, and remembers what
// its client knows.
//
// Config, Filter, Tables and Stats are stable API. All other names serve package session,
// and may change in any release.
//
// A frame is the quantised state of the world at one tick, made once for all viewers. A
// viewer is one session's view of the world. Its interest set holds the entities in its
// area of interest. A snapshot is the part of one frame that a viewer receives, in up to
// four State datagrams. The protocol calls each datagram a snapshot: each has its own
// number and acknowledgement. A baseline is an acknowledged state of a row against which a
// later state is coded. Structure is the reliable, ordered and numbered sequence of Enter,
// Leave and Destroy records and events. A row is dormant when its newest state is
// acknowledged. A slot's tenant is the entity in the slot. A word is 64 neighbouring slots,
// one bit each.
//
//	world.Step ──► AfterStep: deaths ──► grid, changes
//	world (changed slots) ──► Capture ──► frame (one, shared, read-only)
//	frame ──► grid, changes, rules ──► interest
//	interest ──► enters, leaves, destroys ───────────────────► structure
//	      └─► rows not dormant ──► priority ──► budget ──────► datagrams
//	input datagram ──► Acknowledge ──► baselines, losses
//
// A viewer is composed of parts that own their fields. Part interest decides which entities
// should be in view, and part members holds the entities in view, with a row each. Part
// knowledge holds the other handles that the client was sent. Part outbox holds records,
// events and the budget. Parts datagrams and delivery make datagrams and track them. Part
// simulation serves clients that compute bodies. The methods of Viewer coordinate the parts
// and write none of their fields. A Replicator is composed in the same way: of the frame, the
// grid, the slots that changed, the deaths, and the clean bodies. A part receives other parts
// as arguments: it may read their fields, and changes them by calling their methods. A
// workspace is one goroutine's scratch memory, also passed as an argument.
//
// Invariants, cited in code and tests:
//
//	R1 A viewer row's handle is the handle of the frame's tenant of that slot.
//	R2 A slot is known if its tenant is a member of the interest set or if the
//	   slot is in the hidden set, never both. A slot is known if and only if the
//	   client was ever sent the handle of the slot's present tenant (H3).
//	R3 A row's baseline is a state that the client has applied (H6): the Enter
//	   record, or a datagram that it acknowledged. The client still keeps both
//	   states that a row names.
//	R4 A datagram names a structure record: the newest one written before the datagram, or
//	   the last of a snapshot's records that the client has acknowledged. The named
//	   record, or an earlier one, entered every row in the datagram (H1). The client has
//	   every later record that the rows need.
//	R5 A destroyed handle whose slot is known yields exactly one Destroy
//	   record, and the slot is unknown from then on (H3).
//	R6 A row that is not in the active list is dormant: the client has its
//	   newest state and set of components.
//	R7 The owner-only fields of an entity are in no byte sent to a viewer that
//	   does not own it, and the Enter tells the client whether it owns the
//	   entity. What all viewers are sent does not depend on these fields.
//	R8 Structure that was sent and is not acknowledged is kept, or the viewer
//	   cannot resume over another connection. After resuming, no record is
//	   missing, and nothing that depends on a record precedes it.
//	R9 A viewer's messages depend only on its own past, the frame and the
//	   world, not on other viewers or on the worker that makes its snapshots.
//	   Other viewers may affect how far back the frame remembers a row: while all clients
//	   simulate, the frame remembers a clean body's row only for the ticks in which the row
//	   was sent.
//	R10 A viewer's verdict on a handle depends only on the records sent to its client,
//	   and equals the client's own verdict once the client has applied these records.
//	   It never reveals that other entities exist or die, or that slots are reused.
//	   A message with the verdict follows the records that the verdict rests on (Judge).
//	R11 An accepted reliable event becomes one structure record, in the order of
//	   acceptance. An unreliable event is in at most one datagram, within a second, or is
//	   counted as dropped. That datagram leaves unless the connection ends (S8 of
//	   server/session). The client knows every handle in an event (H3). Waiting events take
//	   at most an eighth of a snapshot from rows.
//	R12 If a member's text field has a newer value than the client was sent, and the
//	   client receives the field, the value is queued or the member is about to enter
//	   again. Texts are sent only in the structure.
//	R13 A client that simulates is owed the row of a member with an exact body if
//	   and only if the body was disturbed, or another of the member's values changed,
//	   after the exact state that the client acknowledged. A complete snapshot
//	   contains every row that is owed, and its client knows every effect that moves the
//	   bodies. An effect withheld from the client disturbs the bodies that it moves.
//
// H1 to H7 are the invariants of handles across the network; replication/wire's
// PROTOCOL.md states the client's half of them. P1 to P6 are the invariants of clean bodies,
// which clients that simulate compute:
//
//	P1 After a complete snapshot of tick T, the state of every exact entity in the
//	   replica is the server's after T, to the bit.
//	P2 A body that only motion has moved since the state that its client acknowledged
//	   has no row.
//	P3 Every cause except motion disturbs the body that it changes: the game, contacts,
//	   restoring, and effects that the client may not know.
//	P4 Snapshots prove P1: each covers the exact states of some entities. A failed audit
//	   is counted, reported to the game, and mended by a Resync.
//	P5 A client learns of no effect that is hidden, and of no entity that its filters
//	   hide.
//	P6 A client that does not simulate receives only ordinary rows, whatever other clients do.
package replication
