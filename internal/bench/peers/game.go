//go:build linux

package main

import (
	"iter"
	"sync"
	"sync/atomic"
)

// game is the scene as a studio would write it: entities in a grid of cells. mu guards all
// fields.
type game struct {
	mu      sync.Mutex
	scene   *scene
	tick    uint32
	newest  uint32    // number of the newest entity
	movers  []*entity // walkers, sparks and avatars
	cells   [cellsPerSide * cellsPerSide][]*entity
	viewers map[*viewer]struct{}
}

const (
	cellSize     = 16 // metres
	cellsPerSide = side / cellSize
)

// entity is a thing in the world. Numbers are never reused.
type entity struct {
	id       uint32
	kind     kind
	at       vec
	velocity vec
	cell     int
	changed  uint32 // tick of its newest change
	dies     uint32 // tick of its end; 0: none
	dead     bool
}

// viewer is a client's part of the world.
type viewer struct {
	avatar *entity
	known  map[*entity]struct{} // sent to the client, and not removed from its view
	sent   uint32               // tick of the newest update
	input  atomic.Uint32        // the client's newest two bytes
	out    chan []byte
}

// maxUnsent bounds the updates that wait for a slow client. At the bound the client misses
// updates.
const maxUnsent = 8

func newGame(hz int) *game {
	g := &game{scene: newScene(hz), viewers: map[*viewer]struct{}{}}
	for range resting {
		g.spawn(restingKind, g.scene.place(), vec{})
	}
	for range walkers {
		g.spawn(walkerKind, g.scene.place(), g.scene.heading(walkerSpeed))
	}
	return g
}

func (g *game) spawn(k kind, at, velocity vec) *entity {
	g.newest++
	e := &entity{id: g.newest, kind: k, at: at, velocity: velocity, cell: cellOf(at), changed: g.tick}
	g.cells[e.cell] = append(g.cells[e.cell], e)
	if k != restingKind {
		g.movers = append(g.movers, e)
	}
	return e
}

// join adds a client with an avatar.
func (g *game) join() *viewer {
	g.mu.Lock()
	defer g.mu.Unlock()
	v := &viewer{known: map[*entity]struct{}{}, out: make(chan []byte, maxUnsent)}
	v.avatar = g.spawn(avatarKind, g.scene.home(), g.scene.heading(avatarSpeed))
	g.viewers[v] = struct{}{}
	return v
}

// leave removes a client and its avatar.
func (g *game) leave(v *viewer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	v.avatar.dies = g.tick + 1
	delete(g.viewers, v)
	close(v.out)
}

// step advances the world by a tick, and sends each client its update.
func (g *game) step(encode encoder) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tick++
	for range g.scene.sparksDue(g.tick) {
		e := g.spawn(sparkKind, g.scene.place(), g.scene.heading(avatarSpeed))
		e.dies = g.tick + sparkLife*uint32(g.scene.hz)
	}
	kept := g.movers[:0]
	for _, e := range g.movers {
		if e.dies == g.tick {
			g.remove(e)
			continue
		}
		g.move(e)
		kept = append(kept, e)
	}
	clear(g.movers[len(kept):])
	g.movers = kept
	for v := range g.viewers {
		if len(v.out) == cap(v.out) {
			continue
		}
		message, err := encode(g, v)
		if err != nil {
			return err
		}
		v.sent = g.tick
		v.out <- message
	}
	return nil
}

func (g *game) move(e *entity) {
	switch e.kind {
	case walkerKind:
		e.velocity = g.scene.steerWalker(e.at, e.velocity)
	case avatarKind:
		e.velocity = g.scene.steerAvatar(e.velocity)
	}
	for i := range e.at {
		e.at[i] += e.velocity[i] / float32(g.scene.hz)
	}
	e.changed = g.tick
	if cell := cellOf(e.at); cell != e.cell {
		g.takeOut(e)
		e.cell = cell
		g.cells[cell] = append(g.cells[cell], e)
	}
}

func (g *game) remove(e *entity) {
	g.takeOut(e)
	e.dead = true
}

// takeOut removes e from its cell.
func (g *game) takeOut(e *entity) {
	cell := g.cells[e.cell]
	for i := range cell {
		if cell[i] == e {
			cell[i] = cell[len(cell)-1]
			cell[len(cell)-1] = nil
			g.cells[e.cell] = cell[:len(cell)-1]
			return
		}
	}
}

// near returns the entities within radius of a position.
func (g *game) near(at vec, radius float32) iter.Seq[*entity] {
	return func(yield func(*entity) bool) {
		lowX, lowZ := cellIndex(at[0]-radius), cellIndex(at[2]-radius)
		highX, highZ := cellIndex(at[0]+radius), cellIndex(at[2]+radius)
		for z := lowZ; z <= highZ; z++ {
			for x := lowX; x <= highX; x++ {
				for _, e := range g.cells[z*cellsPerSide+x] {
					if within(e.at, at, radius) && !yield(e) {
						return
					}
				}
			}
		}
	}
}

func within(a, b vec, radius float32) bool {
	x, y, z := a[0]-b[0], a[1]-b[1], a[2]-b[2]
	return x*x+y*y+z*z <= radius*radius
}

func cellOf(at vec) int { return cellIndex(at[2])*cellsPerSide + cellIndex(at[0]) }

// cellIndex returns the row or column of the cell with a coordinate.
func cellIndex(x float32) int { return min(max(int((x+side/2)/cellSize), 0), cellsPerSide-1) }
