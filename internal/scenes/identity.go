package scenes

import "github.com/worldd/worldd/world"

// IdentityName is the name under which Identity is registered.
const IdentityName = "identity"

// Identity is a number that an entity carries from its spawn to its end. It is
// a function of the handle and the world's seed, so that whoever holds both,
// on any machine, can tell whether what he sees under a handle is what was
// spawned under it (S2). It is sent in full in every row, which a game would
// not pay for: it is how tests and bots catch a row applied to another tenant.
type Identity struct {
	Value uint64 `net:"always"`
}

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
