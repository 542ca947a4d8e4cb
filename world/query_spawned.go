package world

// loopStart is the state of a world when a loop over its entities began.
type loopStart struct {
	spawned uint64 // counts.spawned
	marked  uint64 // calls of markSpawned
	slots   uint32 // slots of the pool
	settled bool   // no entity was unmarked
}

func (w *World) beginLoop() loopStart {
	return loopStart{w.counts.spawned, w.marked, w.pool.Slots(), !w.unmarked.Any()}
}

// nextOf is like nextWord, without the entities spawned since the loop began.
func (q *Query) nextOf(began loopStart, word uint32) (uint32, uint64) {
	for {
		next, mask := q.nextWord(word)
		if mask == 0 || q.w.counts.spawned == began.spawned {
			return next, mask
		}
		if next<<6 >= began.slots {
			return 0, 0
		}
		mask &^= q.w.spawnedSince(began, next)
		if mask != 0 {
			return next, mask
		}
		word = next + 1
	}
}

// spawnedSince returns the slots of a word whose entities were spawned since a loop began.
// These are the unmarked slots, if no slot was unmarked when the loop began and the loop's
// body has not read the marks.
func (w *World) spawnedSince(began loopStart, word uint32) uint64 {
	fresh := w.unmarked.Word(word)
	remarked := w.marked != began.marked
	if remarked || fresh != 0 && !began.settled {
		newest := w.events.spawned.list
		newest = newest[len(newest)-min(int(w.counts.spawned-began.spawned), len(newest)):]
		since := uint64(0)
		for _, e := range newest {
			if e.Index()>>6 == word {
				since |= 1 << (e.Index() & 63)
			}
		}
		fresh = since
	}
	if above := min(int(word+1)<<6-int(began.slots), 64); above > 0 {
		fresh |= ^uint64(0) << (64 - above)
	}
	return fresh
}

// isSpawnedSince reports whether the entity of a slot was spawned since a loop began.
func (w *World) isSpawnedSince(began loopStart, slot uint32) bool {
	return w.counts.spawned != began.spawned && w.spawnedSince(began, slot>>6)>>(slot&63)&1 != 0
}
