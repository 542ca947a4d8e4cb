package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
)

// Room is a room as the operator sees it.
type Room struct {
	Name, Kind, State string
	// Visibility and Attributes are what clients learn.
	Visibility string
	Attributes map[string]string
	// Core, Report and Ask are nil while the room has no world.
	Core   *session.Core
	Report func() Report
	// Ask runs f between two ticks, on the goroutine that owns the world. If it returns an
	// error, f has not run.
	Ask func(ctx context.Context, f func()) error
}

// roomInfo is one room in the JSON of /rooms.
type roomInfo struct {
	Name        string  `json:"name"`
	Kind        string  `json:"kind"`
	State       string  `json:"state"` // opening, open, frozen, stalled, draining, ending, failed or closed
	Epoch       string  `json:"epoch"`
	Players     int     `json:"players"`
	Away        int     `json:"away"`
	MaxPlayers  int     `json:"max_players"`
	Reserved    int     `json:"reserved"` // seats, and places held for clients on their way
	Free        int     `json:"free"`
	Ticks       uint64  `json:"ticks"`
	TickP99Ms   float64 `json:"tick_p99_ms"`
	TicksMissed uint64  `json:"ticks_missed"`
	Entities    int     `json:"entities"`

	Visibility string            `json:"visibility,omitempty"` // unlisted, listed or private
	Attributes map[string]string `json:"attributes,omitempty"`
}

func newRoomInfo(r Room) roomInfo {
	info := roomInfo{Name: r.Name, Kind: r.Kind, State: r.State, Visibility: r.Visibility, Attributes: r.Attributes}
	if r.Core == nil {
		return info
	}
	report := r.Report()
	info.Epoch, info.Players, info.Away = fmt.Sprintf("%016x", r.Core.Config().Epoch), report.Active, report.Away
	info.MaxPlayers, info.Ticks, info.TicksMissed = r.Core.MaxSessions(), report.Tick.Count, report.Tick.Missed
	_, info.Reserved, info.Free = r.Core.Places()
	info.TickP99Ms, info.Entities = float64(report.Tick.P99.Microseconds())/1000, report.World.Entities
	return info
}

// rooms is the handler of GET /rooms.
func (p pages) rooms(w http.ResponseWriter, _ *http.Request) {
	rooms := p.Rooms()
	all := make([]roomInfo, len(rooms)) // [] in JSON, not null
	for i, r := range rooms {
		all[i] = newRoomInfo(r)
	}
	writeJSON(w, all)
}

// createTimeout bounds the wait for a room's New.
const createTimeout = 10 * time.Second

func (p pages) createRoom(w http.ResponseWriter, r *http.Request) {
	p.changeRoom(w, r, func(name string) error {
		ctx, cancel := context.WithTimeout(r.Context(), createTimeout)
		defer cancel()
		return p.CreateRoom(ctx, name)
	})
}

func (p pages) closeRoom(w http.ResponseWriter, r *http.Request) {
	p.changeRoom(w, r, func(name string) error { return p.DrainRoom(name, 0) })
}

// Bounds of POST /rooms/drain?seconds=N.
const (
	defaultRoomDrain = 600
	maxRoomDrain     = 24 * 3600
)

func (p pages) drainRoom(w http.ResponseWriter, r *http.Request) {
	within, ok := durationOf(w, r, defaultRoomDrain, maxRoomDrain)
	if ok {
		p.changeRoom(w, r, func(name string) error { return p.DrainRoom(name, within) })
	}
}

// durationOf returns the seconds of a request, or answers it and returns false.
func durationOf(w http.ResponseWriter, r *http.Request, otherwise, most float64) (d time.Duration, ok bool) {
	seconds := otherwise
	if text := r.FormValue("seconds"); text != "" {
		var err error
		if seconds, err = strconv.ParseFloat(text, 64); err != nil || !(seconds > 0) || seconds > most {
			http.Error(w, fmt.Sprintf("seconds: want a number up to %v", most), http.StatusBadRequest)
			return 0, false
		}
	}
	return time.Duration(seconds * float64(time.Second)), true
}

// defaultSeatTime is the time of POST /seats, in seconds.
const defaultSeatTime = 30

// reserveSeats is the handler of POST /seats?room=NAME&user=A&user=B&seconds=N. N is 0 to give seats up.
func (p pages) reserveSeats(w http.ResponseWriter, r *http.Request) {
	lasts := time.Duration(0) // gives the seats up
	if r.FormValue("seconds") != "0" {
		var ok bool
		if lasts, ok = durationOf(w, r, defaultSeatTime, session.MaxSeatTime.Seconds()); !ok {
			return
		}
	}
	room := r.FormValue("room") // parses the form
	err := p.ReserveSeats(r.Context(), room, r.Form["user"], lasts)
	if err == nil {
		return
	}
	status, failure := failureOf(err)
	switch wire.CodeOf(err) {
	case wire.BadArguments:
		status = http.StatusBadRequest
	case wire.ServerFull, wire.Draining, wire.RoomClosed:
		status = http.StatusConflict
	}
	writeFailure(w, status, failure)
}

// changeRoom calls change with the room named in the request.
func (p pages) changeRoom(w http.ResponseWriter, r *http.Request, change func(name string) error) {
	if p.CreateRoom == nil {
		http.Error(w, "the server has one world and no rooms", http.StatusNotFound)
		return
	}
	name := r.FormValue("room")
	if name == "" || len(name) > wire.MaxRoom {
		http.Error(w, fmt.Sprintf("room: want the name of a room, at most %d bytes", wire.MaxRoom), http.StatusBadRequest)
		return
	}
	err := change(name)
	if err == nil {
		return
	}
	status := http.StatusInternalServerError
	switch wire.CodeOf(err) {
	case wire.NoRoom:
		status = http.StatusNotFound
	case wire.ServerFull, wire.Draining:
		status = http.StatusConflict
	}
	http.Error(w, err.Error(), status)
}

// errSilent reports that no room has answered.
var errSilent = errors.New("the world is not ticking")

// ask runs f between two ticks of each room that has a world, or of the named room. It asks all
// rooms at the same time, so that stalled rooms delay the answer by only one timeout of
// Room.Ask. It returns an error if rooms have worlds and none answers.
func (p pages) ask(ctx context.Context, name string, f func(*session.Core)) error {
	var asked sync.WaitGroup
	var mu sync.Mutex
	rooms, answers := 0, 0
	for _, r := range p.Rooms() {
		if r.Core == nil || name != "" && r.Name != name {
			continue
		}
		rooms++
		asked.Go(func() {
			err := r.Ask(ctx, func() {
				mu.Lock()
				defer mu.Unlock()
				f(r.Core)
			})
			if err == nil {
				mu.Lock()
				answers++
				mu.Unlock()
			}
		})
	}
	asked.Wait()
	if rooms > 0 && answers == 0 {
		return errSilent
	}
	return nil
}
