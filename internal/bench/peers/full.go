//go:build linux

package main

import "github.com/vmihailenco/msgpack/v5"

// fullUpdate is an update of peer full: everything in view.
type fullUpdate struct {
	Tick     uint32    `msgpack:"tick"`
	Entities []fullRow `msgpack:"entities"`
}

type fullRow struct {
	ID       uint32 `msgpack:"id"`
	Kind     uint8  `msgpack:"kind"`
	Position vec    `msgpack:"pos"`
	Velocity vec    `msgpack:"vel"`
}

func encodeFull(g *game, v *viewer) ([]byte, error) {
	u := fullUpdate{Tick: g.tick}
	for e := range g.near(v.avatar.at, enterRadius) {
		u.Entities = append(u.Entities, fullRow{e.id, uint8(e.kind), e.at, e.velocity})
	}
	return msgpack.Marshal(&u)
}

// fullView is a client's view of peer full.
type fullView struct{ newest fullUpdate }

func (v *fullView) decode(message []byte) (update, error) {
	v.newest.Entities = v.newest.Entities[:0]
	err := msgpack.Unmarshal(message, &v.newest)
	n := len(v.newest.Entities)
	return update{tick: v.newest.Tick, rows: n, known: n}, err
}
