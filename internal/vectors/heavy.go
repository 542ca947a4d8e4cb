package vectors

import (
	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// These components cover every part of a row's load: dozens of fields, rotations, a parent,
// and hundreds of values, including absent values.
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
	vault struct {
		Locks [36]bool `net:"owner"`
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
	schema.Define[lamps](s, "lamps-north")
	schema.Define[lamps](s, "lamps-east")
	schema.Define[lamps](s, "lamps-south")
	schema.Define[lamps](s, "lamps-west")
	schema.Define[limbs](s, "limbs")
	schema.Define[ride](s, "ride")
	schema.Define[purse](s, "purse")
	return s, s.Err()
}

// VaultSchema returns the schema of the cases in which fields count in the load that the client does not receive.
func VaultSchema() (*schema.Schema, error) {
	s := schema.New()
	schema.Define[vault](s, "vault")
	return s, s.Err()
}
