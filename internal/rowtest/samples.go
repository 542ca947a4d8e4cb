package rowtest

import (
	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/schema"
)

// Components that together have every kind of field.
type (
	Health struct {
		Now   int16 `net:"bits=10"`
		Max   uint8
		Alive bool
		Tiny  uint32 `net:"bits=3"`
		Cache int32  `net:"-"`
	}
	Link struct {
		Target bulk.Handle    `net:"ref"`
		Owner  bulk.Handle    `net:"ref,always"`
		Others [2]bulk.Handle `net:"ref"`
	}
	Aim struct {
		Look struct {
			Yaw, Pitch float32
			Locked     bool
			Zoom       float64 `net:"range=0..1,step=1/1000"`
		} `net:"range=-4..4,step=1/256"`
		Scale  float32
		Exact  float64
		Serial uint64
		Debt   int64
		Count  uint32 `net:"always"`
		Signed int32
		Deep   [2][2]int8
	}
	Empty struct{}
	Ride  struct {
		At [3]float32  `net:"range=-64..64,step=1/64,predict=linear,parent=On"`
		On bulk.Handle `net:"ref"`
	}
)

// SampleSchema returns a schema of Body and these components.
func SampleSchema() *schema.Schema {
	s := schema.New()
	schema.Define[schema.Body](s, "body")
	schema.Define[Health](s, "health")
	schema.Define[Link](s, "link")
	schema.Define[Empty](s, "empty")
	schema.Define[Aim](s, "aim")
	schema.Define[Ride](s, "ride")
	must(s.Err())
	return s
}

// SampleRow returns a row with every component; n varies its values.
func SampleRow(s *schema.Schema, n int) rowschema.Row {
	row := NewRow(s, 0)
	x := float32(n)
	Set(s, &row, "body", schema.Body{Position: [3]float32{x, 1.5, -100 + x/4}, Velocity: [3]float32{0, -x, 0.5}})
	Set(s, &row, "health", Health{Now: int16(-n), Max: 200, Alive: n%2 == 0, Tiny: uint32(n % 8)})
	Set(s, &row, "link", Link{Target: bulk.NewHandle(uint32(n*1000), 3), Others: [2]bulk.Handle{0, bulk.NewHandle(2, 1)}})
	Set(s, &row, "empty", Empty{})
	a := Aim{Scale: x / 3, Exact: float64(n) / 7, Serial: uint64(n) << 40, Debt: int64(-n), Count: uint32(n), Signed: int32(-n * n)}
	a.Look.Yaw, a.Look.Locked, a.Look.Zoom = x/100, true, 0.25
	a.Deep[1][0] = int8(-n)
	Set(s, &row, "aim", a)
	Set(s, &row, "ride", Ride{At: [3]float32{x / 2, 1, -x}})
	return row
}
