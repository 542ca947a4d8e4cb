package server

import (
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/wire"
)

const bytesHelp = "Bytes without packet headers, by direction and kind; coded: what was made for clients, by component."

// collectCoded tells what was made for clients by whose it is: of components
// the rows, in snapshots and where entities enter, and of messages what is around
// them. The names of these have a space, which those of components cannot.
func collectCoded(s *wire.Schema, r replication.Stats, counter countFunc) {
	coded := func(bits uint64, component string) {
		counter(bits/8, "worldd_bytes_total", bytesHelp, "dir", "coded", "component", component)
	}
	state, structure := 8*r.StateBytes, 8*r.StructureBytes
	for i := range s.Components() {
		coded(r.StateRowBits[i]+r.EnterRowBits[i], s.Component(i).Name)
		state -= r.StateRowBits[i]
		structure -= r.EnterRowBits[i]
	}
	coded(state, "state headers")
	coded(structure, "structure records")
}
