package rules

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/worldd/worldd/server"
)

// savedBytes is the size of what saveSession appends.
const savedBytes = 3*4 + 3*8 + 2*4

// saveSession appends a player's counters, and the steering of the avatar.
func (g *Game) saveSession(s *server.Session, b []byte) []byte {
	p := g.players[s]
	for _, n := range [...]uint32{p.renames, p.scored, p.flash} {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	for _, tick := range [...]uint64{p.renamed, p.shoots, p.launches} {
		b = binary.LittleEndian.AppendUint64(b, tick)
	}
	for _, x := range g.scene.Steering(s.Entity()) {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

// restoreSession continues a session after a crash.
func (g *Game) restoreSession(s *server.Session, saved []byte) error {
	p := &player{}
	g.players[s] = p
	if len(saved) != savedBytes {
		return errors.New("rules: a session that another version has saved")
	}
	u32 := func(at int) uint32 { return binary.LittleEndian.Uint32(saved[at:]) }
	u64 := func(at int) uint64 { return binary.LittleEndian.Uint64(saved[at:]) }
	p.renames, p.scored, p.flash = u32(0), u32(4), u32(8)
	p.renamed, p.shoots, p.launches = u64(12), u64(20), u64(28)
	g.scene.RestoreSteering(s.Entity(), [2]float32{math.Float32frombits(u32(36)), math.Float32frombits(u32(40))})
	g.scene.SkipFlashes(p.flash)
	return nil
}
