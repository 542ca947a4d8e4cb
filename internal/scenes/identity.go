package scenes

import (
	"math"

	"github.com/worldd/worldd/world"
)

// IdentityName is the name under which Identity is registered.
const IdentityName = "identity"

// Identity is a number that an entity carries from its spawn to its end. It is
// a function of the handle and the world's seed, so that whoever holds both,
// on any machine, can tell whether what he sees under a handle is what was
// spawned under it (S2). Its last 16 bits are in Mark as well, which travels in
// every row: a row that is applied to another tenant leaves that one's Value with
// a foreign Mark. So tests and bots catch all such rows but one in 65,536, for
// two bytes a row that a game would not pay.
type Identity struct {
	Value uint64
	Mark  uint16 `net:"always"`
}

// NewIdentity is the identity of that number.
func NewIdentity(number uint64) Identity { return Identity{number, uint16(number)} }

// Number is the identity as far as the newest row tells: with another's mark it
// is nobody's number.
func (i Identity) Number() uint64 { return i.Value&^math.MaxUint16 | uint64(i.Mark) }

// IdentityOf gives the identity of a handle in a world of that seed. It is a
// bijection of the handles: no two of a world share one. The mixing is the
// finaliser of splitmix64 (Steele, Lea and Flood, 2014).
func IdentityOf(h world.Entity, seed uint64) uint64 {
	return mix64(uint64(h) + mix64(seed))
}

func mix64(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
