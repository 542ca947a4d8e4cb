package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// definition is a wd_client_def.
type definition struct {
	address, more, fingerprint, schema, name, room, version, minServer string
	token                                                              []byte
	epoch                                                              uint64
	giveUp                                                             float64 // seconds
	maxBytes                                                           uint64
	maxEntities, maxEvents                                             uint32
	insecure, webSocket, simulate, strict, updates                     bool
	unknown                                                            uint32 // flags that this version does not know
}

// hostedClient is one client of the program that hosts the library.
type hostedClient struct {
	inCall    atomic.Bool // guards all other fields, until the client has been destroyed
	destroyed bool
	broken    bool // a call has panicked

	game   *game
	clock  hostClock
	dialed chan dialed // the result of Dial, which runs on its own goroutine
	cancel context.CancelFunc
	client *client.Client // nil: still connecting, or never connected
	over   bool           // the client has ended

	prediction *prediction // nil: wd_predict was not called

	moment    client.Moment
	events    events            // while Dial runs, of its goroutine
	commands  map[uint32]uint32 // numbers of unanswered commands in the schema, by id
	code      int32             // why the connection was lost
	errorText string
	eventText string
}

type dialed struct {
	client *client.Client
	err    error
}

// newHost begins to connect.
func newHost(d definition) (*hostedClient, error) {
	if d.unknown != 0 {
		return nil, errors.New("worldd: def.flags has bits that this version does not know")
	}
	g, err := newGame(d.schema)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	h := &hostedClient{game: g, dialed: make(chan dialed, 1), cancel: cancel, commands: map[uint32]uint32{}, clock: hostClock{since: time.Now()}}
	h.events.most = int(min(d.maxEvents, 1<<24))
	if h.events.most == 0 {
		h.events.most = defaultMaxEvents
	}
	c := client.Config{
		Addr: d.address, Fingerprint: d.fingerprint, InsecureDev: d.insecure, Schema: g.schema, StrictSchema: d.strict,
		Version: d.version, MinServer: d.minServer, Epoch: d.epoch, Token: d.token, Name: d.name, Room: d.room,
		MaxEntities: int(min(d.maxEntities, 1<<24)), MaxBytes: int(min(d.maxBytes, 1<<30)), Simulate: d.simulate,
		GiveUp: seconds(d.giveUp), Fallback: d.webSocket, Clock: h.clock.now,
		Observer: h.observer(d.updates), Events: h.messages(), Result: h.addResult, State: h.addState,
	}
	if d.more != "" {
		c.Addrs = strings.Split(d.more, ",")
	}
	if err := c.Validate(); err != nil {
		cancel()
		return nil, err
	}
	go func() {
		connected, err := dial(ctx, c)
		h.dialed <- dialed{connected, err}
	}()
	return h, nil
}

// dial calls client.Dial, and turns a panic into an error (E1).
func dial(ctx context.Context, c client.Config) (connected *client.Client, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.New(describe(p))
		}
	}()
	return client.Dial(ctx, c)
}

// update applies what arrived.
func (h *hostedClient) update(now float64) result {
	if !h.clock.set(now) {
		return h.fail(badArgument, "worldd: now is not a finite number of seconds")
	}
	if h.client == nil && !h.over {
		h.takeDialed()
	}
	switch {
	case h.over:
		return ended
	case h.client == nil:
		return ok
	}
	if err := h.client.Update(); err != nil {
		h.over = true
		return h.fail(ended, err.Error())
	}
	return ok
}

// takeDialed takes over the client if it has connected.
func (h *hostedClient) takeDialed() {
	select {
	case d := <-h.dialed:
		h.client = d.client
		if d.err == nil {
			h.attachPrediction()
			return
		}
		h.over = true
		h.addState(client.StateChange{State: client.Ended, Err: d.err})
		h.errorText = d.err.Error()
	default:
	}
}

// fail notes why a call fails, and returns r.
func (h *hostedClient) fail(r result, why string) result {
	h.errorText = why
	return r
}

// breakDown ends a client in which a call has panicked.
func (h *hostedClient) breakDown(p any) {
	h.broken, h.over = true, true
	h.errorText = describe(p)
}

// leave closes the connection of a client that was destroyed. It runs beside the host.
func (h *hostedClient) leave() {
	h.cancel()
	if h.prediction != nil {
		defer h.prediction.pinned.Unpin()
	}
	c := h.client
	if c == nil && !h.over {
		c = (<-h.dialed).client
	}
	if c == nil {
		return
	}
	defer func() { _ = recover() }() // a broken client
	_ = c.Close()
}

// status has the members of wd_status.
type status struct {
	state, code                int32
	tick, tickHz, snapshotHz   uint32
	entities                   int
	controlled, epoch, session uint64
	stats                      client.Stats
}

func (h *hostedClient) status() (s status) {
	s.state, s.code = int32(client.Connecting), h.codeNow()
	if c := h.client; c != nil {
		w := c.Welcome()
		s.state, s.tick, s.entities = int32(c.State()), c.Replica().Tick(), c.Replica().Len()
		s.tickHz, s.snapshotHz, s.epoch, s.session = uint32(w.TickHz), uint32(w.SnapshotHz), w.Epoch, w.Session
		s.controlled, s.stats = uint64(c.Controlled()), c.Stats()
	}
	if h.over {
		s.state = int32(client.Ended)
	}
	return s
}

// codeNow returns why the connection is lost, 0 while it is not.
func (h *hostedClient) codeNow() int32 {
	if h.over || h.client != nil && h.client.State() != client.Joined {
		return h.code
	}
	return 0
}

// textOf returns a text of wd_text.
func (h *hostedClient) textOf(which int) string {
	joined := h.client != nil
	switch {
	case which == textError:
		return h.errorText
	case which == textEvent:
		return h.eventText
	case which == textRoom && joined:
		return h.client.Welcome().Room
	case which == textSchema && joined:
		return h.client.Replica().Schema().Text()
	case which == textChanges && joined:
		return strings.Join(h.client.SchemaChanges(), "\n")
	}
	return ""
}

// render sets the moment to show.
func (h *hostedClient) render() result {
	if h.client == nil {
		return h.fail(notJoined, "worldd: the client has not joined yet")
	}
	h.moment = h.client.Render()
	if h.moment.Tick == 0 {
		return h.fail(notJoined, "worldd: the second snapshot has not arrived yet")
	}
	return ok
}

// resolve returns the verdict on a handle.
func (h *hostedClient) resolve(of bulk.Handle) wire.Verdict {
	if h.client == nil {
		return wire.Pending
	}
	return h.client.Resolve(of)
}

// entity returns a live entity, or nil.
func (h *hostedClient) entity(of bulk.Handle) *client.Entity {
	if h.client == nil {
		return nil
	}
	return h.client.Entity(of)
}

// listEntities writes the handles of the entities in view, and returns how many there are.
func (h *hostedClient) listEntities(to []bulk.Handle) int {
	if h.client == nil {
		return 0
	}
	n := 0
	for e := range h.client.Replica().All() {
		if n == len(to) {
			break
		}
		to[n] = e.Handle()
		n++
	}
	return h.client.Replica().Len()
}

// componentsOf returns a bit for each component of the program's schema that e has.
func (h *hostedClient) componentsOf(e *client.Entity) (mask uint32) {
	served := h.client.Replica().Schema()
	for i, spec := range h.game.schema.Components() {
		if n, found := served.ByName(spec.Name); found && e.Mask()>>n&1 != 0 {
			mask |= 1 << i
		}
	}
	return mask
}

// checkMessage checks the memory of a message that the host sends: a record, or at most maxRaw bytes if the schema declares no type.
func (h *hostedClient) checkMessage(name string, of *record, message unsafe.Pointer, size, maxRaw uint64) result {
	switch {
	case of == nil && size > maxRaw:
		return h.fail(badSize, fmt.Sprintf("worldd: %s has %d bytes, at most %d", name, size, maxRaw))
	case of != nil && message == nil:
		return h.fail(badArgument, "worldd: "+name+" is NULL")
	case of != nil && size != uint64(of.layout.Size):
		return h.failSize(size, of)
	case h.client == nil || h.over:
		return h.fail(notJoined, client.ErrNotJoined.Error())
	}
	return ok
}

// do sends a command. A raw one asks for entities with provisional handles; a record names its own.
func (h *hostedClient) do(command uint32, target bulk.Handle, args unsafe.Pointer, size uint64, provisional []bulk.Handle) (id uint32, r result) {
	if command >= uint32(len(h.game.arguments)) {
		return 0, h.fail(badArgument, "worldd: the program's schema has no such command")
	}
	of := h.game.arguments[command]
	if of != nil && len(provisional) > 0 {
		return 0, h.fail(badArgument, "worldd: the command is not raw: its record names its provisional handles")
	}
	if r := h.checkMessage("args", of, args, size, wire.MaxCommandArgs); r != ok {
		return 0, r
	}
	var f *client.Future
	var err error
	if of == nil {
		f, err = h.client.DoRaw(h.game.schema.Commands()[command].Name, target, bytes.Clone(unsafe.Slice((*byte)(args), size)), provisional...)
	} else {
		f, err = client.Do[any](h.client, schema.DefinedCommand[any]{}, target, of.toPointer(args))
	}
	switch {
	case errors.Is(err, client.ErrNotJoined):
		return 0, h.fail(notJoined, err.Error())
	case err != nil:
		return 0, h.fail(refused, err.Error())
	}
	h.commands[f.ID()] = command
	return f.ID(), ok
}

// setInput sets what the player holds down.
func (h *hostedClient) setInput(input unsafe.Pointer, size uint64) (tick uint32, r result) {
	of := h.game.input
	if r := h.checkMessage("input", of, input, size, wire.MaxInputBytes); r != ok {
		return 0, r
	}
	var err error
	if of == nil {
		tick, err = h.client.SetRawInput(bytes.Clone(unsafe.Slice((*byte)(input), size)))
	} else {
		tick, err = h.client.SetInputValue(of.toPointer(input))
	}
	if err != nil {
		return 0, h.fail(refused, err.Error())
	}
	return tick, ok
}

// takeProvisional returns a new provisional handle.
func (h *hostedClient) takeProvisional() (bulk.Handle, result) {
	if h.client == nil || h.over {
		return 0, h.fail(notJoined, client.ErrNotJoined.Error())
	}
	p, err := h.client.Provisional()
	switch {
	case errors.Is(err, client.ErrNotJoined):
		return 0, h.fail(notJoined, err.Error())
	case err != nil:
		return 0, h.fail(refused, err.Error())
	}
	return p, ok
}
