package host

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"go.uber.org/zap"

	"github.com/worldd/worldd/loadtest/bot"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

// validateRooms reports the contradictions in d.Rooms, and between d and d.Rooms.
func (d *Definition) validateRooms() error {
	var wrong complaints
	if d.Rooms == nil {
		wrong.addIf(d.Kinds != nil, "Kinds is set without Rooms")
		wrong.addIf(d.ImageCopies != nil, "ImageCopies is set without Rooms")
		return errors.Join(wrong...)
	}
	wrong.addIf(d.Kinds != nil && d.New != nil, "Kinds and New are both set: either makes the rooms")
	for _, name := range slices.Sorted(maps.Keys(d.Kinds)) {
		_, known := d.Rooms.Kinds[name]
		wrong.addIf(!known, "Kinds[%q]: Rooms.Kinds has no such kind", name)
		wrong.addIf(d.Kinds[name] == nil, "Kinds[%q] is nil", name)
	}
	c := *d.Rooms
	wrong.addIf(!reflect.ValueOf(c.Images).IsZero(), "Rooms.Images is set: flags decide it")
	c.Images, c.Kinds = server.RoomImages{}, maps.Clone(c.Kinds)
	for name, k := range c.Kinds {
		wrong.addIf(k.New != nil, "Rooms.Kinds[%q].New is set: Definition.Kinds or New makes all rooms, Options.Room says which", name)
		wrong.addIf(d.Kinds != nil && d.Kinds[name] == nil, "Kinds has no function for %q of Rooms.Kinds", name)
		k.New = func(server.RoomRequest) (*server.RoomGame, error) { return nil, nil }
		c.Kinds[name] = k
	}
	return errors.Join(append(wrong, c.Validate())...)
}

// hosted holds the games of a server's rooms.
type hosted struct {
	mu    sync.Mutex
	games map[string]*Instance // of running rooms, by name
	ended uint64               // confused handles in rooms that have ended
	found []bot.Confusion      // the first maxFound of them
}

// maxFound bounds the confusions kept of rooms that have ended.
const maxFound = 16

// hostRooms returns a hosting of the game's rooms, and their games. each changes the
// WorldConfig of one room. If record names a folder, rooms are recorded to files in it: pinned
// rooms from their start, others from their first session.
func (p *program) hostRooms(o Options, each func(*server.WorldConfig), record recordFlags, log *zap.Logger) (*hosting, *hosted) {
	h := &hosted{games: map[string]*Instance{}}
	records := &recordings{recordFlags: record, log: log, rooms: map[string]bool{}}
	rooms := *p.Rooms
	rooms.Kinds = maps.Clone(rooms.Kinds)
	for name, k := range rooms.Kinds {
		k.New = func(q server.RoomRequest) (*server.RoomGame, error) {
			o := o
			o.Room = q
			g, err := p.buildInstance(o)
			if err != nil {
				return nil, err
			}
			each(&g.WorldConfig)
			h.mu.Lock()
			h.games[q.Name] = g
			h.mu.Unlock()
			made := g.inRoom(q.Name, log)
			endRecording := func() {}
			if record.Record != "" {
				endRecording = records.addTo(made, g, q, k.Pinned && q.ID == "")
			}
			made.Ended = func() {
				endRecording()
				h.forgetRoom(q.Name, g)
			}
			return made, nil
		}
		rooms.Kinds[name] = k
	}
	c := p.serverConfig()
	c.Rooms = &rooms
	kinds := slices.Sorted(maps.Keys(rooms.Kinds))
	return &hosting{
		config: c, title: fmt.Sprintf("rooms of %s %v", p.Name, kinds),
		attach: func(*server.Room) {}, confused: h.sumConfusions, countRooms: func() (int, int) { return h.countRooms(p.Rooms.Kinds) }, seed: o.SeedOr(1), areaMetres: defaultArea,
	}, h
}

// forgetRoom forgets the game of a room that has ended, but keeps its confused handles.
func (h *hosted) forgetRoom(room string, g *Instance) {
	n, found := g.Confused()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended += n
	h.found = append(h.found, found[:min(len(found), maxFound-len(h.found))]...)
	if h.games[room] == g { // not replaced by a later run of the room
		delete(h.games, room)
	}
}

// countRooms counts the rooms that run, and those that clients have made.
func (h *hosted) countRooms(kinds map[string]server.RoomKind) (all, onDemand int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for name := range h.games {
		kind, id, _ := strings.Cut(name, "/")
		all++
		if id != "" || !kinds[kind].Pinned {
			onDemand++
		}
	}
	return all, onDemand
}

// sumConfusions returns the sum of Instance.Confused of all rooms.
func (h *hosted) sumConfusions() (n uint64, found []bot.Confusion) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n, found = h.ended, slices.Clone(h.found)
	for _, name := range slices.Sorted(maps.Keys(h.games)) {
		more, some := h.games[name].Confused()
		n += more
		found = append(found, some...)
	}
	return n, found
}

// inRoom returns g as the game of a room.
func (g *Instance) inRoom(room string, log *zap.Logger) *server.RoomGame {
	r := &server.RoomGame{WorldConfig: g.WorldConfig, Attach: g.Attach, Reload: g.Reload, Extra: g.Extra, LoadExtra: g.LoadExtra, Edited: g.Edited}
	r.RestoreRun = func(img *world.Image) error {
		err := g.RestoreRun(img)
		if err == nil {
			g.logRestored(log.With(zap.String("room", room)))
		}
		return err
	}
	return r
}

// anyRoom returns the request for the world of a room without a server, for example to repeat a
// recording. It has no generations, since the recording has them.
func (p *program) anyRoom(name string) (server.RoomRequest, error) {
	if name == "" {
		return server.RoomRequest{}, nil
	}
	kind, id, err := server.ParseRoomName(name)
	if err != nil {
		return server.RoomRequest{}, usageError("--room: %w", err)
	}
	if _, known := p.Rooms.Kinds[kind]; !known {
		return server.RoomRequest{}, usageError("--room is %s, and this game has no kind of rooms named %q: want one of %s",
			name, kind, strings.Join(slices.Sorted(maps.Keys(p.Rooms.Kinds)), ", "))
	}
	return server.RoomRequest{Name: name, Kind: kind, ID: id}, nil
}

// checkRooms makes a room of each kind and reports all contradictions.
func (p *program) checkRooms(o Options) (summary string, warnings []string, err error) {
	rooms, made := p.hostRooms(o, func(*server.WorldConfig) {}, recordFlags{}, zap.NewNop())
	rooms.config.Listen = "127.0.0.1:0" // not bound
	if err := rooms.config.CheckRooms(); err != nil {
		return "", nil, usageError("%w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(made.games)) {
		text, more := made.games[name].Describe()
		summary += "\n  " + name + ": " + text
		for _, w := range more {
			warnings = append(warnings, name+": "+w)
		}
	}
	return fmt.Sprintf("%s%s", countOf(len(p.Rooms.Kinds), "kind of rooms", "kinds of rooms"), summary), warnings, nil
}
