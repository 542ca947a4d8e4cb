package world

// followEntities brings the effects that follow an entity to where its body is,
// and ends those whose entity is gone: an effect holds its entity weakly.
func (w *World) followEntities() {
	if w.effects.bound == 0 {
		return
	}
	pool := w.effects.pool
	live := pool.Live()
	for slot, ok := live.Next(0); ok; slot, ok = live.Next(slot + 1) {
		e := pool.At(slot)
		if e.follows != 0 && !w.followEntity(e) {
			w.RemoveEffect(pool.HandleAt(slot))
		}
	}
}

// followEntity says whether the entity is still there.
func (w *World) followEntity(e *effect) bool {
	at, ok := w.Position(e.follows)
	if ok {
		w.center(e, at.Add(e.offset))
	}
	return ok
}
