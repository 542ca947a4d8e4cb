package replication

// FullPace is the pace at which viewers are sent all the snapshots that
// Config.SnapshotHz says.
const FullPace = 16

// SetPace has each viewer be sent pace of FullPace snapshots from now on, 1 to
// FullPace, evenly spread: for a server that has no time for all. What a snapshot
// may take stays, so that fewer of them are fewer bytes and fewer rows. Two for
// one viewer are never closer to each other than at full pace.
func (r *Replicator) SetPace(pace int) { r.pace = uint64(min(max(pace, 1), FullPace)) }

// Due says whether a viewer is to be sent a snapshot of the present tick. Phases
// spread the viewers over the ticks of one send interval: a third of them in
// each of three ticks is a third of the peak.
func (r *Replicator) Due(phase uint64) bool {
	moment := r.world.Tick() + phase
	return r.due(moment+1) != r.due(moment)
}

// due is how many snapshots a viewer is sent before a tick: the line of their rate,
// rounded up, so that two of them are a tick closer than on average at most.
func (r *Replicator) due(tick uint64) uint64 {
	ticks := uint64(r.world.TickHz()) * FullPace
	return (tick*uint64(r.config.SnapshotHz)*r.pace + ticks - 1) / ticks
}
