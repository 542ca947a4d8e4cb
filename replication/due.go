package replication

// Due says whether it is a viewer's turn to be sent a snapshot in the present tick:
// as often a second as Config.SnapshotHz says. Phases spread the viewers over the
// ticks of one send interval: a third of them in each of three ticks is a third of
// the peak. Two turns of one viewer are never closer to each other than an interval
// of whole ticks.
func (r *Replicator) Due(phase uint64) bool {
	moment := r.world.Tick() + phase
	return r.due(moment+1) != r.due(moment)
}

// due is how many turns a viewer has before a tick: the line of their rate, rounded
// up, so that two of them are a tick closer than on average at most.
func (r *Replicator) due(tick uint64) uint64 {
	hz := uint64(r.world.TickHz())
	return (tick*uint64(r.config.SnapshotHz) + hz - 1) / hz
}
