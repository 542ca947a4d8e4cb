package server

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/worldd/worldd/internal/quicserve"
	"github.com/worldd/worldd/server/session"
)

var errNoQlog = errors.New("qlog is off: start the server with a folder for it")

// qlog is the handler of POST /sessions/ID/qlog?seconds=10.
func (s *Server) qlog(w http.ResponseWriter, r *http.Request) {
	seconds := 10.0
	id, err := strconv.ParseUint(r.PathValue("id"), 10, 64)
	if text := r.FormValue("seconds"); err == nil && text != "" {
		seconds, err = strconv.ParseFloat(text, 64)
	}
	if err != nil || !(seconds > 0) || seconds > quicserve.MaxQlog.Seconds() {
		http.Error(w, fmt.Sprintf("want POST /sessions/ID/qlog?seconds=N, with N up to %v", quicserve.MaxQlog.Seconds()), http.StatusBadRequest)
		return
	}
	if !s.quic.Records() {
		http.Error(w, errNoQlog.Error(), http.StatusNotFound)
		return
	}
	var of []session.Info
	if err := s.loop.ask(r.Context(), func() { of = s.core.Infos(id-1, 1) }); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	if len(of) == 0 || of[0].ID != id {
		http.Error(w, fmt.Sprintf("there is no session %d", id), http.StatusNotFound)
		return
	}
	c, ok := of[0].Conn.(*quicserve.Conn)
	if !ok {
		http.Error(w, "it has no connection at present", http.StatusNotFound)
		return
	}
	name, err := s.quic.Record(c, id, time.Duration(seconds*float64(time.Second)))
	switch {
	case errors.Is(err, quicserve.ErrQlogRuns), errors.Is(err, quicserve.ErrTooManyQlogs):
		http.Error(w, err.Error(), http.StatusConflict)
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	default:
		_, _ = io.WriteString(w, name+"\n")
	}
}
