package scenes

import "github.com/worldd/worldd/world"

// IdentityOf returns the identity of a handle in a world with this seed. It is a bijection
// of handles: identities in a world are unique. Any machine can therefore check whether the
// entity that it sees under a handle was spawned under that handle (S2). It uses
// splitmix64's finaliser (Steele, Lea and Flood, 2014).
func IdentityOf(h world.Entity, seed uint64) uint64 {
	return mix64(uint64(h) + mix64(seed))
}

func mix64(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
