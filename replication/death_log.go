package replication

import (
	"slices"

	"github.com/worldd/worldd/bulk"
)

// death is the end of an entity, with the game's cause or 0.
type death struct {
	handle bulk.Handle
	cause  uint8
}

// deathLog holds the deaths that some viewer has not recorded yet.
type deathLog struct {
	deaths  []death // oldest first
	dropped uint64  // number of earlier deaths
	causes  int     // number of deaths with a cause
}

// addDeath adds a death.
func (l *deathLog) addDeath(d death) {
	l.deaths = append(l.deaths, d)
	if d.cause != 0 {
		l.causes++
	}
}

// count returns the number of deaths so far, dropped ones included.
func (l *deathLog) count() uint64 { return l.dropped + uint64(len(l.deaths)) }

// deathsSince returns the deaths after the first n.
func (l *deathLog) deathsSince(n uint64) []death { return l.deaths[n-l.dropped:] }

// dropFirst drops the first n deaths of the world.
func (l *deathLog) dropFirst(n uint64) {
	stale := int(n - l.dropped)
	for _, d := range l.deaths[:stale] {
		if d.cause != 0 {
			l.causes--
		}
	}
	l.deaths = slices.Delete(l.deaths, 0, stale)
	l.dropped = n
}
