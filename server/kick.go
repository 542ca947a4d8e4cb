package server

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/worldd/worldd/replication/wire"
)

// kick is the handler of POST /sessions/ID/kick?reason=TEXT.
func (s *Server) kick(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.ParseUint(r.PathValue("id"), 10, 64)
	reason := r.FormValue("reason")
	if err != nil || len(reason) > wire.MaxText {
		http.Error(w, fmt.Sprintf("want POST /sessions/ID/kick?reason=TEXT, of at most %d bytes", wire.MaxText), http.StatusBadRequest)
		return
	}
	there := false
	if err := s.loop.ask(r.Context(), func() {
		session := s.core.Session(id)
		if there = session != nil; there {
			session.Kick(reason)
		}
	}); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	if !there {
		http.Error(w, fmt.Sprintf("there is no session %d", id), http.StatusNotFound)
	}
}
