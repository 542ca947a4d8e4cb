package simulation

import (
	"github.com/worldd/worldd/internal/vectors"
	"github.com/worldd/worldd/replication/wire"
)

// teleportsOf returns the teleports of a State header.
func teleportsOf(all ...wire.Teleport) (b []byte) {
	next := uint32(0)
	for _, t := range all {
		b = wire.AppendTeleport(b, next, t)
		next = t.Row + 1
	}
	return b
}

// teleports adds cases about teleported entities.
func (k *riders) teleports() {
	told := func(seq, tick uint32, teleports []byte) vectors.Step {
		h := wire.StateHeader{Seq: seq, Tick: tick, Structure: 3, Teleports: teleports}
		return datagrams(k.datagram(h, tick, riderRow{slot: 0}, riderRow{slot: 1}, riderRow{slot: plain}))[0]
	}
	enters := stream(k.enter(1, ridersTick, ridersTick, 0, 1, plain))
	k.add("teleports", "the first and the last of three entities are teleported", enters,
		told(1, 56, teleportsOf(wire.Teleport{Row: 0, Age: 0}, wire.Teleport{Row: 2, Age: 4})))
	k.add("teleport told again", "until a state since is acknowledged, each row tells of the teleport", enters,
		told(1, 56, teleportsOf(wire.Teleport{Row: 1, Age: 2})), told(2, 59, teleportsOf(wire.Teleport{Row: 1, Age: 5})), told(3, 62, nil))
	k.add("teleports in neighbouring rows", "two entities are teleported, whose rows follow each other", enters,
		told(1, 56, teleportsOf(wire.Teleport{Row: 1, Age: 1}, wire.Teleport{Row: 2, Age: 3})))
	k.add("teleport in tick 1", "the oldest tick", enters, told(1, 56, teleportsOf(wire.Teleport{Row: 1, Age: 55})))
	k.add("teleport in tick 0", "a teleport before the first tick", enters, told(1, 56, teleportsOf(wire.Teleport{Row: 1, Age: 56})))
	k.add("teleport of no row", "a teleport of the fourth of three rows", enters, told(1, 56, teleportsOf(wire.Teleport{Row: 3})))
	k.add("long teleport", "an age that is not in its shortest form", enters, told(1, 56, []byte{1, 0x82, 0}))
	k.add("half a teleport", "teleports that end before an age", enters, told(1, 56, []byte{1}))
	none := wire.AppendStateHeader(nil, wire.StateHeader{Seq: 1, Tick: 56, Structure: 3})
	none[len(none)-4] |= 32 // flags
	none = append(none[:len(none)-1], 0, 0)
	k.add("no teleports", "flags announce teleports, and there are none", enters, datagrams(none)[0])
}
