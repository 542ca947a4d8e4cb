// Package cluster makes several processes host the rooms of one game. Each room runs on one node at a time, and moves whole.
//
// Terms. A node is a process that hosts rooms; it has a name, which stays when the process starts again, and an incarnation,
// which is one life of the node in the directory. The directory is a Store of records that all nodes share: etcd (package
// cluster/etcd), or a Memory. A lease is a node's right to run its rooms until a time on its own clock; it renews the lease by
// swaps of its record. A tombstone is a node's record that says that its incarnation is dead. A node takes a room by a swap of
// the room's record, which raises the room's epoch, and has a Holding from the answer on. A block is a range of generations of
// handles: a room has one of its own, so that no handle of one node is live on another. A stored run keeps its block while nobody
// runs it. A node is fenced if it finds its own tombstone. The directory is foreign if it is not the one that the node knows.
//
//	   server/host                       this package                         the engine
//	----------------       ------------------------------------------       ---------------
//
//	Take, Release   ──►  Node ──►  machine: view      copy of the directory
//	Holding.MayRun  ◄──   │   ◄──           identity  is it the known one?
//	Holding.Lost    ◄──   │                 lease     until when may rooms run?
//	                      │                 peers     which nodes are dead?
//	                      │                 blocks    which are free?
//	                      │                 rooms     whose are they?
//	                      │                 calls     one at a time for each
//	                      └─────────  requests, answers, changes  ─────────►  Store
//
// The machine is the protocol: it has no clock, no randomness, no goroutine and no store. These are its arguments, and its
// requests are an output, so that the simulation (simulation_test.go) plays whole clusters in virtual time. A Node carries the
// requests to the Store, each in a goroutine of its own, and wakes the machine by its timer.
//
// Records are JSON with a version:
//
//	id           the directory's identity and the lease of all nodes, made by the first one
//	node/NAME    incarnation, addresses, fingerprint for the link, lease, number of the renewal, or tombstone
//	room/NAME    open: node, incarnation, epoch, nonce, block · kept: keeper, whether it is the heir, epoch, block · free: epoch, or no record · each: the newest image
//	block/NNNN   the room that has the block, or none
//
// A record that is not readable stays as it is, and what it describes is not used (RecordError).
//
// Invariants, cited in code and tests:
//
//	C1  A room steps, sends and saves only before the end of the lease minus a margin, on the node's monotonic clock. The lease
//	    counts from before the sending of the newest acknowledged renewal. Else the room stands still, and continues after a
//	    renewal: nobody can have taken it without a tombstone.
//	C2  Permission to run is an acknowledged swap of this incarnation, never a record that was read. Each raises the epoch to
//	    the swap's revision at least: so epochs rise also for a room whose record was deleted when it was free.
//	C3  A room is taken from an incarnation only if that has a tombstone, or if its node has another incarnation or no record,
//	    as seen in a copy of the directory that includes all before the room's record.
//	C4  A tombstone is written over a record that did not change for the lease and twice the drift of clocks, by a swap that
//	    fails if it changed. A node whose record it finds dead, gone or another's begins again as a new incarnation, and so
//	    does a node whose registration had no clear answer. No tombstone is needed for an incarnation of this node's own name
//	    whose process has certainly ended (Past; package nodefile).
//	C5  A room's record names its newest image. The name changes only by a swap of the record at the revision of the owner's own
//	    taking or save, so that what a node saves after it has lost the room is never the newest. It stays while nobody runs the room,
//	    and whoever takes the room learns it with the taking: a run begins with this image or not at all.
//	C6  A block has one owner: the room's record and the block's change in one swap. Free blocks are used again in the order in
//	    which they were freed; then those of stored and of dead nodes' rooms.
//	C7  A pass admits once, to one run of a room in one process (server/passes.go). Nodes order passes for their clients from each
//	    other over package link.
//	C8  There is one request for a room at a time. After one without a clear answer the keys are read before the next. A late
//	    answer owns nothing. A room whose record names this incarnation, without a Holding, is released, or taken again with the
//	    next epoch.
//	C9  If the directory's identity is gone or another, or if its revision has fallen, all rooms stand still, and the node changes
//	    nothing until an operator adopts the directory. A new directory is settled after the time of C4: before that no
//	    room is taken, since nodes of the one before may still run it. In an adopted one, new runs get blocks after as long again. A node without a lease changes no room: the same revision
//	    may be of another change there.
//	C10 No tick waits for the engine: MayRun reads two atomics and the clock.
//	C11 A node that moves a room, the source, releases it for an incarnation of another one, the heir. Both have the whole run, and may
//	    continue it in the same block: the record names both, until the next taking. For offerTime other nodes send clients to the heir, as
//	    long as that incarnation lives. Then they send them to the source for a while, as long as that lives: it takes its run back if the heir
//	    ends before it has taken the room. Both take the room as any other (C2), so that none of this is needed for C1 to C6.
//	C12 A node's record names the earlier incarnations whose runs are on its disk. For comebackTime other nodes leave the open rooms of these
//	    incarnations to that node, as long as it lives, although C3 allows to take them. A node that takes its room again in an adopted
//	    directory (C9) does not wait.
//
// Limits. Clocks may run apart by 1 % (clockDrift); a machine that sleeps with its processes has a clock that stands still, and
// breaks that. A pause between MayRun and the sending lets one snapshot out. A backup of the directory that is restored while
// nodes run shows as C9 to these nodes, but not to a node that starts at that moment: stop all nodes first.
package cluster
