package replication

import "github.com/worldd/worldd/bulk"

// knowledge holds the handles that a viewer's client was sent besides the members of its interest
// set: entities out of view, and deaths.
type knowledge struct {
	hidden     slotSet               // slots whose tenant the client knows but does not have in view (R2)
	dead       generations           // by slot, the newest generation that the client knows to be destroyed (R10)
	deathsSeen uint64                // deaths recorded so far, counted with those dropped by the replicator
	causes     map[bulk.Handle]uint8 // causes of the deaths of members, until their Destroy
}

// setCause keeps the cause of a member's death until its Destroy.
func (k *knowledge) setCause(h bulk.Handle, cause uint8) {
	if k.causes == nil {
		k.causes = map[bulk.Handle]uint8{}
	}
	k.causes[h] = cause
}

// takeCause returns the cause of a member's death, or 0.
func (k *knowledge) takeCause(h bulk.Handle) uint8 {
	cause := k.causes[h]
	delete(k.causes, h)
	return cause
}

// takeDeaths returns the deaths since its last call.
func (k *knowledge) takeDeaths(r *Replicator) []death {
	deaths := r.deaths[k.deathsSeen-r.deathsDropped:]
	k.deathsSeen += uint64(len(deaths))
	return deaths
}

// addHidden notes that the client is sent h, which it does not have in view.
func (k *knowledge) addHidden(h bulk.Handle) { k.hidden.set(h.Index()) }

// removeHidden notes that the tenant of a slot is destroyed, and reports whether the client knew it
// and did not have it in view.
func (k *knowledge) removeHidden(slot uint32) bool {
	known := k.hidden.has(slot)
	if known {
		k.hidden.clear(slot)
	}
	return known
}

// addDead notes that the client is sent the Destroy of h.
func (k *knowledge) addDead(h bulk.Handle) { k.dead.raiseTo(h.Index(), h.Generation()) }

// showMember notes that an entity comes into view.
func (k *knowledge) showMember(h bulk.Handle) { k.hidden.clear(h.Index()) }

// hideMember notes that a member leaves view. The client had it in view and so knows that the
// slot's earlier tenants are destroyed.
func (k *knowledge) hideMember(h bulk.Handle) {
	slot := h.Index()
	if g := h.Generation(); g > 2 {
		k.dead.raiseTo(slot, g-2)
	}
	k.hidden.set(slot)
}
