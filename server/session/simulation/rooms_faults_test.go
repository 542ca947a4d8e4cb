//go:build faults

package simulation

import "testing"

// TestFaultRooms runs the simulation of rooms with every deliberate fault of moves.
func TestFaultRooms(t *testing.T) {
	catchFamily(t, "Room", 8, 40, func(seed uint64) error { return newRoomsSim(t, seed).simulate() })
}
