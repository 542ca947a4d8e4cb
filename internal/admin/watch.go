package admin

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/worldd/worldd/server/session"
)

// watched is the JSON of POST /sessions/ID/watch.
type watched struct {
	Name   string `json:"name"`
	Entity string `json:"entity"` // "none" if the session controls none, or for the session's own view
}

// watch is the handler of POST /sessions/ID/watch?session=OTHER: from now on the client of session ID views the world
// from the entity that session OTHER of the same room controls now; without OTHER, from its own again. It neither
// steers that entity nor sees more of it than any client.
func (p pages) watch(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.ParseUint(r.PathValue("id"), 10, 64)
	other := uint64(0)
	if text := r.FormValue("session"); err == nil && text != "" {
		other, err = strconv.ParseUint(text, 10, 64)
	}
	if err != nil {
		http.Error(w, "want POST /sessions/ID/watch?session=OTHER, with the IDs of two sessions", http.StatusBadRequest)
		return
	}
	var answer watched
	missing := id
	if err := p.ask(r.Context(), "", func(c *session.Core) {
		if viewer := c.Session(id); viewer != nil {
			answer, missing = viewFrom(c, viewer, other)
		}
	}); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	switch missing {
	case 0:
		writeJSON(w, answer)
	case id:
		http.Error(w, fmt.Sprintf("no session %d", id), http.StatusNotFound)
	default:
		http.Error(w, fmt.Sprintf("no session %d in the room of session %d", missing, id), http.StatusNotFound)
	}
}

// viewFrom sets the viewpoint of a session to the entity of another, 0: to its own. missing is the other if it is not
// in the room.
func viewFrom(c *session.Core, viewer *session.Session, other uint64) (answer watched, missing uint64) {
	if other == 0 {
		viewer.SetViewpoint(0)
		return watched{Entity: "none"}, 0
	}
	target := c.Session(other)
	if target == nil {
		return watched{}, other
	}
	entity := target.Entity()
	viewer.NoteSent(entity) // the answer names it (H3)
	viewer.SetViewpoint(entity)
	return watched{Name: target.Name(), Entity: entity.String()}, 0
}
