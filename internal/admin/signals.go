package admin

import (
	"cmp"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
)

// signalsPath begins the paths of signals.
const signalsPath = "/signals/"

// maxBodyOf returns the bound of a request's body.
func maxBodyOf(r *http.Request) int64 {
	if isToGame(r) {
		return session.MaxSignalBytes
	}
	return maxBody
}

// isToGame reports whether code of the game answers a request.
func isToGame(r *http.Request) bool {
	return isSignal(r) || strings.HasPrefix(r.URL.Path, gamePath)
}

func isSignal(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, signalsPath) }

// signalFailure is the JSON of a signal that has no answer.
type signalFailure struct {
	Code string `json:"code"`
	// Ran says whether the game's function has run: no, yes (it returned the error), or unknown. A backend may repeat
	// only what has not run, or what may happen twice.
	Ran  string `json:"ran"`
	Text string `json:"text"`
}

// signal is the handler of POST /signals/NAME.
func (p pages) signal(w http.ResponseWriter, r *http.Request) {
	args, err := io.ReadAll(r.Body) // bounded by the guard
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer, err := p.Signal(r.Context(), r.URL.Query().Get("room"), r.PathValue("name"), args)
	if err != nil {
		answerFailure(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(answer, '\n')) // fails only if the backend has disconnected
}

// answerFailure answers a signal that has no answer.
func answerFailure(w http.ResponseWriter, err error) {
	status, failure := failureOf(err)
	writeFailure(w, status, failure)
}

func writeFailure(w http.ResponseWriter, status int, failure signalFailure) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	writeJSON(w, failure)
}

// failureOf describes the error of a signal, with the status of the response.
func failureOf(err error) (status int, f signalFailure) {
	f = signalFailure{Text: err.Error(), Ran: "yes"}
	code := wire.CommandRefused // the game's own error
	switch {
	case errors.Is(err, session.ErrNotRun):
		f.Ran, code = "no", wire.Timeout
	case errors.Is(err, session.ErrOutcomeUnknown):
		f.Ran, code = "unknown", wire.Timeout
	}
	if e, ok := errors.AsType[*wire.Error](err); ok {
		code = e.Code
	} else if e, ok := errors.AsType[*session.Rejection](err); ok {
		code, f.Text = cmp.Or(e.Code, code), e.Text
	}
	f.Code = code.String()
	switch {
	case f.Ran == "unknown":
		return http.StatusGatewayTimeout, f
	case f.Ran == "yes" && code == wire.Internal: // it panicked
		return http.StatusInternalServerError, f
	case f.Ran == "yes":
		return http.StatusUnprocessableEntity, f
	}
	switch code {
	case wire.NoRoom, wire.UnknownCommand:
		return http.StatusNotFound, f
	case wire.BadArguments:
		return http.StatusBadRequest, f
	case wire.RateLimited:
		return http.StatusTooManyRequests, f
	}
	return http.StatusServiceUnavailable, f
}
