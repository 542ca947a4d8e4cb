package replication

// Resume has the viewer go on over another connection, to a client that has
// applied the structure records up to number and nothing after. What was sent of
// them and lost is in stream, valid until the next snapshot, and must be sent
// before anything else that speaks of handles: until then the client believes less
// than the viewer takes it to know. To the viewer a broken connection is a link
// that lost everything for a while, so all the rest stays: what the client knows,
// its baselines, and the numbers of its snapshots. Resume returns false, and
// changes nothing, if the client is further behind than what is kept (R8), or
// cannot have come to that number.
func (v *Viewer) Resume(number uint32) (stream []byte, ok bool) {
	if !v.structure.rewind(number) {
		return nil, false
	}
	stream = v.structure.again()
	v.countStructure(stream)
	return stream, true
}
