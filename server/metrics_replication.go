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

// collectRows tells how rows came by their bits, which is most of what a snapshot
// costs: one that is copied takes a twentieth of one that is coded.
func collectRows(r replication.Stats, counter countFunc) {
	const rows = "Rows in snapshots, by how they came by their bits: coded for the first viewer, or copied for a further one."
	counter(r.Rows-r.RowsCopied, "worldd_rows_total", rows, "bits", "coded")
	counter(r.RowsCopied, "worldd_rows_total", rows, "bits", "copied")
	counter(r.RowsWhole, "worldd_rows_whole_total", "Rows in snapshots that no state the client has acknowledged helped to code.")
	counter(r.RowsLost, "worldd_rows_lost_total", "Rows of snapshots that were taken for lost.")
	const records = "Records of structure, by what they say."
	counter(r.Enters, "worldd_structure_records_total", records, "op", "enter")
	counter(r.Leaves, "worldd_structure_records_total", records, "op", "leave")
	counter(r.Destroys, "worldd_structure_records_total", records, "op", "destroy")
}
