package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"go.uber.org/zap/zapcore"

	"github.com/worldd/worldd/internal/admin"
	"github.com/worldd/worldd/internal/printable"
	"github.com/worldd/worldd/world"
)

const (
	// timelineColumns is the number of columns of the time line, for deaths and for marks.
	timelineColumns = 300
	// maxAsked bounds the handles of one request.
	maxAsked = 16
)

// filmPage serves a film to the page of a recording.
type filmPage struct {
	mu     sync.Mutex // guards film: requests take turns
	film   *film
	frames frameWriter
	about  filmInfo
}

// filmInfo is the answer to GET /recording/info.
type filmInfo struct {
	File     string   `json:"file"`
	Game     string   `json:"game"`
	Schema   string   `json:"schema"`
	First    uint64   `json:"first"`
	Last     uint64   `json:"last"`
	TickHz   int      `json:"tick_hz"`
	Compared uint64   `json:"compared"`
	End      string   `json:"end"`
	Differs  []string `json:"differs"` // parts of the state after the last tick; empty if none does
	Changes  []string `json:"changes"`
	Deaths   []int    `json:"deaths"` // by column of the time line
	Players  []uint64 `json:"players"`
	Stops    []uint64 `json:"stops"`
	Slow     []uint64 `json:"slow"`
	Late     []uint64 `json:"late"`
	Lateness string   `json:"lateness"` // how many ticks were late
	Full     bool     `json:"full"`     // later moments are not known
}

// showPage serves the page of a recording until ctx ends.
func (c *replayCommand) showPage(ctx context.Context, p *program) error {
	o, err := c.newOptions(p)
	if err != nil {
		return err
	}
	g, replay, file, err := p.openReplay(c.File, o)
	if err != nil {
		return err
	}
	defer file.Close()
	limits := filmLimits{keyframeSeconds * uint64(g.World.TickHz()), maxKeyframeBytes, maxMoments}
	f, err := newFilm(ctx, g, replay, file, limits, func(tick uint64) { p.printLine("replayed up to tick %d", tick) })
	if err != nil {
		return err
	}
	page, err := newFilmPage(f, file.Name(), p.Name)
	if err != nil {
		return err
	}
	log := newLog(p.err, zapcore.WarnLevel)
	defer func() { _ = log.Sync() }()
	port, err := admin.ListenReplay(cmp.Or(c.Listen, "127.0.0.1:0"), page.routes(), log)
	if err != nil {
		return err
	}
	port.Start()
	p.printLine("%s: ticks %d to %d, %d compared; %s", file.Name(), f.first, f.last, f.replay.Checked(), page.about.End)
	p.printLine("watch it in a browser: http://%v/replay (Ctrl-C ends it)", port.Addr())
	<-ctx.Done()
	return port.Close()
}

func newFilmPage(f *film, path, game string) (*filmPage, error) {
	s, err := f.game.CompleteSchema()
	if err != nil {
		return nil, err
	}
	about := filmInfo{
		File: filepath.Base(path), Game: game, Schema: s.Text(), First: f.first, Last: f.last, TickHz: f.game.World.TickHz(),
		Compared: f.replay.Checked(), Deaths: make([]int, timelineColumns), Full: f.full,
		Differs: []string{}, Changes: []string{}, Players: []uint64{}, Stops: []uint64{}, Slow: []uint64{}, Late: []uint64{},
	}
	for _, change := range f.replay.Image().Changes() {
		about.Changes = append(about.Changes, fmt.Sprint(change))
	}
	about.End, about.Differs = f.describeEnd()
	for i := range f.events {
		m := &f.events[i]
		switch {
		case m.what == momentDeath:
			about.Deaths[f.column(m.tick)]++
		case m.what == momentStop:
			about.Stops = f.addMark(about.Stops, m.tick)
		case m.what == momentLate:
			about.Late = f.addMark(about.Late, m.tick)
		}
		if f.matches(m, &jump{what: "players"}) {
			about.Players = f.addMark(about.Players, m.tick)
		}
	}
	for _, s := range f.slow {
		about.Slow = append(about.Slow, s.tick)
	}
	about.Lateness = f.late.String()
	return &filmPage{film: f, about: about}, nil
}

// column returns the column of the time line that has a tick.
func (f *film) column(tick uint64) uint64 {
	return min((tick-f.first)*timelineColumns/max(f.last-f.first, 1), timelineColumns-1)
}

// addMark adds a mark for a tick unless its column has one: an overloaded server is late for thousands of ticks.
func (f *film) addMark(marks []uint64, tick uint64) []uint64 {
	if n := len(marks); n > 0 && f.column(marks[n-1]) == f.column(tick) {
		return marks
	}
	return append(marks, tick)
}

// describeEnd says how the replay ended, and which parts of the state differ after its last tick.
func (f *film) describeEnd() (text string, differs []string) {
	divergence, diverged := errors.AsType[*world.DivergenceError](f.end)
	switch {
	case errors.Is(f.end, io.EOF):
		return "the replay equals the recording", []string{}
	case diverged:
		return printable.Text(f.end.Error()), divergence.Parts
	case errors.Is(f.end, world.ErrRecording) && errors.Is(f.end, io.ErrUnexpectedEOF):
		return "the recording was not closed: its server died or still runs; it is correct up to here", []string{}
	}
	return printable.Text(f.end.Error()), []string{}
}

// routes returns the handler of the page's data.
func (p *filmPage) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /recording/info", func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, p.about) })
	mux.HandleFunc("GET /recording/frame", p.frame)
	mux.HandleFunc("GET /recording/find", p.find)
	return mux
}

func answerJSON(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value) // fails only if the page is gone
}

// frame answers GET /recording/frame?tick=N&held=H,H&arrows=X,Z,STEP,COLUMNS,ROWS with the world after a tick.
func (p *filmPage) frame(w http.ResponseWriter, r *http.Request) {
	tick, err := parseTick(r.FormValue("tick"))
	held, heldErr := parseHandles(r.FormValue("held"))
	grid, gridErr := parseGrid(r.FormValue("arrows"))
	if err := errors.Join(err, heldErr, gridErr); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.film.seek(r.Context(), tick); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	body, err := p.frames.write(p.film.game.World, held, grid)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	_, _ = w.Write(body)
}

// foundMoment is the answer to GET /recording/find.
type foundMoment struct {
	Tick   uint64 `json:"tick"`
	Handle string `json:"handle,omitempty"`
	Text   string `json:"text"`
}

// find answers GET /recording/find?tick=N&what=deaths&back=1&of=HANDLE with the next moment, or 404.
func (p *filmPage) find(w http.ResponseWriter, r *http.Request) {
	tick, err := parseTick(r.FormValue("tick"))
	of, ofErr := parseHandles(r.FormValue("of"))
	if err := errors.Join(err, ofErr); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	j := jump{from: tick, back: r.FormValue("back") == "1", what: r.FormValue("what")}
	if len(of) > 0 {
		j.entity = of[0]
	}
	m, found := p.film.find(j) // moments do not change
	if !found {
		http.Error(w, "none", http.StatusNotFound)
		return
	}
	answer := foundMoment{Tick: m.tick, Text: "among the slowest ticks of this replay"}
	if m.what != momentSlow {
		answer.Text = p.film.describeMoment(m)
	}
	if m.entity != 0 {
		answer.Handle = m.entity.String()
	}
	answerJSON(w, answer)
}

// describeMoment says what happened to which entity, or how late the tick was.
func (f *film) describeMoment(m moment) string {
	if m.what == momentLate {
		return fmt.Sprintf("began %d ms late on the server", m.lateMS)
	}
	text := fmt.Sprintf("%s %v", f.game.World.Kinds()[m.kind].Name, m.entity)
	switch m.what {
	case momentSpawn:
		return text + " was spawned"
	case momentStop:
		return text + " was stopped: one of its numbers was not finite"
	}
	if m.cause != 0 {
		return fmt.Sprintf("%s was destroyed, cause %d", text, m.cause)
	}
	return text + " was destroyed"
}

func parseTick(text string) (uint64, error) {
	tick, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("tick %q: want a whole number", text)
	}
	return tick, nil
}

// parseHandles parses handles like 17v3, separated by commas.
func parseHandles(text string) ([]world.Entity, error) {
	var all []world.Entity
	if text == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		var h world.Entity
		if err := h.UnmarshalText([]byte(part)); err != nil {
			return nil, err
		}
		all = append(all, h)
		if len(all) > maxAsked {
			return nil, fmt.Errorf("more than %d handles", maxAsked)
		}
	}
	return all, nil
}

// arrowGrid is a grid of points at which the page draws arrows.
type arrowGrid struct {
	x, z, step    float32
	columns, rows int
}

func parseGrid(text string) (g arrowGrid, err error) {
	if text == "" {
		return g, nil
	}
	parts := strings.Split(text, ",")
	var numbers [5]float64
	for i, part := range parts {
		if i < len(numbers) && err == nil {
			numbers[i], err = strconv.ParseFloat(part, 32)
		}
	}
	columns, rows := numbers[3], numbers[4]
	if err != nil || len(parts) != len(numbers) || !(columns >= 0 && rows >= 0 && columns*rows <= maxArrows) || math.IsNaN(numbers[0]+numbers[1]+numbers[2]) {
		return g, fmt.Errorf("arrows %q: want X,Z,STEP,COLUMNS,ROWS with at most %d points", text, maxArrows)
	}
	return arrowGrid{float32(numbers[0]), float32(numbers[1]), float32(numbers[2]), int(columns), int(rows)}, nil
}
