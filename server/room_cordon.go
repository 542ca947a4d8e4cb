package server

import (
	"maps"
	"slices"
	"time"
)

// cordonLasts is how long the name of a drained room stays closed after the room has ended. It
// bounds the number of closed names if the operator drains every match.
const cordonLasts = 24 * time.Hour

// endedLasts is how long clients and tokens cannot make a room again that has ended for good (Room.End). So a client that
// was away when its match ended does not begin the next one alone.
const endedLasts = time.Minute

// cordons holds the names of drained rooms and when each opens again. Without it clients would
// make a drained room again within seconds. Only the operator opens a name earlier. Cordons do
// not survive a restart of the server.
type cordons map[string]time.Time

// closeName closes the name of a room that ends no later than end.
func (c cordons) closeName(name string, end time.Time) {
	c.closeUntil(name, end.Add(cordonLasts))
}

func (c cordons) closeUntil(name string, until time.Time) {
	c.removeExpired(time.Now())
	c[name] = until
}

// isClosed reports whether name is closed.
func (c cordons) isClosed(name string, now time.Time) bool { return now.Before(c[name]) }

func (c cordons) removeExpired(now time.Time) {
	maps.DeleteFunc(c, func(_ string, until time.Time) bool { return !now.Before(until) })
}

// closedRooms returns the names of the drained rooms that have ended, in order.
func (m *rooms) closedRooms() (names []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cordons.removeExpired(time.Now())
	for name := range m.cordons {
		if m.byName[name] == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
