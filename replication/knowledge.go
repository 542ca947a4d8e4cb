package replication

import "github.com/worldd/worldd/bulk"

// knowledge holds the handles that a viewer's client knows in addition to its members:
// entities out of view, and destroyed entities.
type knowledge struct {
	hidden     slotSet               // slots whose tenant the client knows and does not have in view (R2)
	dead       generations           // newest generation, by slot, that the client knows to be destroyed (R10)
	deathsSeen uint64                // deaths recorded so far, including deaths that the replicator dropped
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

// takeDeaths returns the deaths since the last call.
func (k *knowledge) takeDeaths(r *Replicator) []death {
	deaths := r.deaths.deathsSince(k.deathsSeen)
	k.deathsSeen += uint64(len(deaths))
	return deaths
}

// addHidden records that the client is sent h and does not have it in view.
func (k *knowledge) addHidden(h bulk.Handle) { k.hidden.set(h.Index()) }

// removeHidden records that the tenant of a slot is destroyed, and reports whether it was
// in the hidden set.
func (k *knowledge) removeHidden(slot uint32) bool {
	known := k.hidden.has(slot)
	if known {
		k.hidden.clear(slot)
	}
	return known
}

// addDead records that the client is sent the Destroy of h.
func (k *knowledge) addDead(h bulk.Handle) { k.dead.raiseTo(h.Index(), h.Generation()) }

// showMember records that h enters view.
func (k *knowledge) showMember(h bulk.Handle) { k.hidden.clear(h.Index()) }

// hideMember records that a member leaves view. From its Enter the client knows that
// earlier tenants of the slot are destroyed.
func (k *knowledge) hideMember(h bulk.Handle) {
	slot := h.Index()
	if g := h.Generation(); g > 2 {
		k.dead.raiseTo(slot, g-2)
	}
	k.hidden.set(slot)
}
