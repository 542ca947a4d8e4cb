package rig

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/session"
)

// Config configures New.
type Config struct {
	// Server is the game. Its fields about sockets, images and logs have no effect. A panic
	// in the game ends the process, as with PanicEnds.
	Server server.Config
	// Rooms are additional rooms of the process, named by their Config.Room. Clients join them
	// by name, and sessions move to them (Session.Move). Their worlds have the tick rate of
	// Server's and disjoint ranges of generations. A client that names no room joins Server's.
	Rooms []server.Config
	// MakeRoom makes the room that a client or a moving session names, if there is none. A query (wire.RoomQuery) finds the fullest
	// room of MakeRoom that suits and has a free place. If there is none, MakeRoom makes one with a number as id and the query's
	// attributes in RoomRequest. An error refuses the client. nil: there are only Rooms. EndRoom ends rooms.
	MakeRoom func(server.RoomRequest) (server.WorldConfig, error)
	// Link is the link of clients that join.
	Link Link
	Load Load
}

// quantum is the resolution of time.
const quantum = time.Millisecond

// Rig is a server and its clients in virtual time. It belongs to one goroutine.
type Rig struct {
	config   Config
	core     *session.Core
	router   *session.Router // nil without Config.Rooms
	rooms    []*session.Core // the rooms of Config.Rooms and of MakeRoom
	made     madeRooms
	random   *rand.Rand
	now      time.Duration
	ticks    int64
	shortage shortage
	clients  []*Client
	conns    []*conn
	passing  bool // a frame or a tick may be running
	digest   hash.Hash64
}

// New returns a rig. Its links and secrets depend on seed alone.
func New(seed uint64, c Config) (*Rig, error) {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	c.Server.Random, c.Server.PanicEnds = rand.NewChaCha8(key), true
	r := &Rig{config: c, random: rand.New(rand.NewPCG(seed, 0)), digest: fnv.New64a()}
	var err error
	if len(c.Rooms) > 0 || c.MakeRoom != nil {
		err = r.makeRooms()
	} else {
		r.core, err = c.Server.NewCore()
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Core returns the server: for broadcasting events, and for reading its figures.
func (r *Rig) Core() *session.Core { return r.core }

// Now returns the time since New.
func (r *Rig) Now() time.Duration { return r.now }

// Clients returns the clients that have joined and not left, in the order of joining.
func (r *Rig) Clients() []*Client { return slices.Clone(r.clients) }

// Digest returns a hash of all bytes that have arrived, and of their times.
func (r *Rig) Digest() uint64 { return r.digest.Sum64() }

// Join connects a client that declares the server's schema. See Dial.
func (r *Rig) Join(name string) (*Client, error) {
	return r.Dial(client.Config{Name: name, Schema: r.config.Server.Schema})
}

// Dial connects a client over Config.Link, lets time pass, and returns after its Welcome. The
// client is updated 60 times a second until EachFrame replaces that. Dial sets Simulation in
// config.
func (r *Rig) Dial(config client.Config) (*Client, error) {
	c := &Client{rig: r, link: r.config.Link}
	config.Simulation = (*network)(c)
	var err error
	if c.Client, err = client.Dial(context.Background(), config); err != nil {
		return nil, err
	}
	c.EachFrame(60, c.Update)
	r.clients = append(r.clients, c)
	return c, nil
}

// Step lets time pass until the server has made its next tick. The error is the first of a
// frame since the last call; that client's frames have ended.
func (r *Rig) Step() error {
	for made := r.ticks; made == r.ticks; {
		r.pass()
	}
	return r.frameError()
}

// RunFor lets d pass. See Step for the error.
func (r *Rig) RunFor(d time.Duration) error {
	for end := r.now + d; r.now < end; {
		r.pass()
	}
	return r.frameError()
}

// RunUntil lets time pass, at most d, until done returns true. It calls done after each tick.
func (r *Rig) RunUntil(d time.Duration, done func() bool) error {
	for end := r.now + d; !done(); {
		if r.now >= end {
			return fmt.Errorf("rig: not done after %v", d)
		}
		if err := r.Step(); err != nil {
			return err
		}
	}
	return nil
}

// Close ends the worker goroutines of Replication.Workers, if there are any.
func (r *Rig) Close() {
	r.core.Close()
	for _, c := range r.rooms {
		c.Close()
	}
}

func (r *Rig) frameError() error {
	var errs []error
	for _, c := range r.clients {
		if c.err != nil && !c.reported {
			c.reported = true
			errs = append(errs, c.err)
		}
	}
	return errors.Join(errs...)
}

var errNested = errors.New("rig: time cannot pass inside a frame or a function of the server's game: poll instead of waiting")

// pass advances to the next tick, but by at most a quantum, and makes the tick if it is due.
func (r *Rig) pass() {
	if r.passing {
		panic(errNested)
	}
	r.passing = true
	due := r.tickTime()
	tick := max(due, r.shortage.until)
	r.now = max(min(r.now+quantum, tick), r.now) // after a stall several ticks are due at once
	for _, c := range r.conns {
		c.deliver()
	}
	r.conns = slices.DeleteFunc(r.conns, func(c *conn) bool { return c.left && c.gone })
	for _, c := range slices.Clone(r.clients) {
		c.runFrame()
	}
	if r.now >= tick {
		r.tick(due)
		if r.router != nil {
			r.router.Expire(time.Unix(0, int64(r.now)))
		}
	}
	r.passing = false
}

// note adds arriving bytes to the digest.
func (r *Rig) note(p []byte) {
	_, _ = r.digest.Write(binary.LittleEndian.AppendUint64(nil, uint64(r.now)))
	_, _ = r.digest.Write(p)
}
