package scenes

import (
	"math"

	"github.com/worldd/worldd/world"
)

// IdentityName is the name under which Identity is registered.
const IdentityName = "identity"

// Identity is a number that an entity keeps for life. It is a function of handle and
// seed, so any machine can check whether the entity it sees under a handle is the one
// spawned under it (S2). Mark repeats its last 16 bits and travels in every row: a row
// applied to the wrong tenant leaves a Value and a Mark that do not match. Tests and
// bots thus detect all but one in 65,536 of such rows, at two bytes per row that a game
// would not spend.
type Identity struct {
	Value uint64
	Mark  uint16 `net:"always"`
}

// NewIdentity returns the identity with that number.
func NewIdentity(number uint64) Identity { return Identity{number, uint16(number)} }

// Number is the identity as of the newest row. If Mark is another entity's, it matches
// no identity.
func (i Identity) Number() uint64 { return i.Value&^math.MaxUint16 | uint64(i.Mark) }

// IdentityOf returns the identity of a handle in a world with that seed. It is a
// bijection of handles: identities in a world are unique. It uses splitmix64's
// finaliser (Steele, Lea and Flood, 2014).
func IdentityOf(h world.Entity, seed uint64) uint64 {
	return mix64(uint64(h) + mix64(seed))
}

func mix64(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
