package vectors

import (
	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// These components cover everything that a row's load counts: dozens of fields,
// rotations, a parent, and hundreds of values, including absent ones.
type (
	lamps struct {
		Lit [wire.MaxFieldsPerComponent]bool
	}
	limbs struct {
		Turns [24]limb
	}
	limb struct {
		Turn [4]float32 `net:"quat,bits=9"`
	}
	ride struct {
		At [3]float32  `net:"range=-64..64,step=1/64,predict=linear,parent=On"`
		On bulk.Handle `net:"ref"`
	}
	purse struct {
		Coins int32 `net:"bits=20"`
	}
)

// Component bits of HeavySchema in row masks.
const (
	HeavyLamps = 1 << iota // one of four identical components
	_
	_
	_
	HeavyLimbs
	HeavyRide
	HeavyPurse
)

// HeavySchema returns the schema of the cases that bound a datagram's decoding cost.
func HeavySchema() (*schema.Schema, error) {
	s := schema.New()
	for _, add := range []func() error{
		func() error { return schema.Add[lamps](s, "lamps-north") },
		func() error { return schema.Add[lamps](s, "lamps-east") },
		func() error { return schema.Add[lamps](s, "lamps-south") },
		func() error { return schema.Add[lamps](s, "lamps-west") },
		func() error { return schema.Add[limbs](s, "limbs") },
		func() error { return schema.Add[ride](s, "ride") },
		func() error { return schema.Add[purse](s, "purse") },
	} {
		if err := add(); err != nil {
			return nil, err
		}
	}
	return s, nil
}
