// Package rowtest makes schemas and rows for tests of the packages that code rows. Random ones
// depend only on a seed. It panics on errors.
package rowtest

import (
	"fmt"
	"math/rand/v2"
	"reflect"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/schema"
)

// Everything has a field of every kind.
type Everything struct {
	Position [3]float32  `net:"range=-256..256,step=1/512,predict=linear,parent=Holder"`
	Facing   [4]float32  `net:"quat,bits=9,predict=linear"`
	Holder   bulk.Handle `net:"ref"`
	Aim      [4]float32  `net:"quat,bits=5"`
	Velocity [3]float32  `net:"range=-130..130,step=1"` // a ring of 261 numbers
	Yaw      float32     `net:"angle,bits=12,predict=linear"`
	Roll     float64     `net:"angle,bits=20"`
	Charge   float32     `net:"range=0..130,step=1,predict=linear"`
	Ammo     int32       `net:"bits=12,predict=linear"`
	State    uint8       `net:"enum=5"`
	Tiny     uint8       `net:"bits=3"`
	Count    uint32
	Alive    bool
	Armed    bool
	Raw      float32
	Serial   uint64
	Identity uint64 `net:"always"`
}

// Cube has a shape that the default tables were trained on.
type Cube struct {
	Position [3]float32 `net:"range=-256..256,step=1/512,predict=linear,parent=Holder"`
	Facing   [4]float32 `net:"quat,bits=9,predict=linear"`
	Lit      bool
	Holder   bulk.Handle `net:"ref"`
}

type kind struct {
	of  reflect.Type
	tag reflect.StructTag
}

// kinds lists the fields of random schemas.
var kinds = func() (all []kind) {
	t := reflect.TypeFor[Everything]()
	for i := range t.NumField() {
		if f := t.Field(i); f.Name != "Position" {
			all = append(all, kind{f.Type, f.Tag})
		}
	}
	return append(all,
		kind{reflect.TypeFor[[3]float32](), `net:"range=-8..8,step=1/64,predict=linear"`},
		kind{reflect.TypeFor[[4]float32](), `net:"quat,bits=7,always"`},
		kind{reflect.TypeFor[[4]float32](), `net:"range=-1..1,step=1/64"`},
		kind{reflect.TypeFor[[3]float32](), `net:"range=-8..8,step=1/64,predict=linear,owner"`},
		kind{reflect.TypeFor[[4]float32](), `net:"quat,bits=8,owner"`},
		kind{reflect.TypeFor[bulk.Handle](), `net:"ref,owner"`},
		kind{reflect.TypeFor[uint64](), `net:"always,owner"`},
		kind{reflect.TypeFor[int32](), `net:"owner"`},
		kind{reflect.TypeFor[bool](), `net:"owner"`})
}()

// RandomSchema returns a schema of up to three components with random fields.
func RandomSchema(r *rand.Rand) *schema.Schema {
	s := schema.New()
	switch r.IntN(3) {
	case 0:
		schema.Define[Everything](s, "posed")
		must(s.Err())
	case 1:
		schema.Define[Cube](s, "posed")
		must(s.Err())
	}
	for i := range 1 + r.IntN(2) {
		var fields []reflect.StructField
		for j := range r.IntN(12) {
			k := kinds[r.IntN(len(kinds))]
			fields = append(fields, reflect.StructField{Name: fmt.Sprintf("F%d", j), Type: k.of, Tag: k.tag})
		}
		schema.DefineType(s, fmt.Sprintf("c%d", i), reflect.StructOf(fields))
		must(s.Err())
	}
	return s
}

// randomise sets v to a random value, or keeps it with probability keep.
func randomise(v reflect.Value, r *rand.Rand, keep float64) {
	if v.Type() == reflect.TypeFor[bulk.Handle]() {
		if r.Float64() >= keep {
			v.SetUint(uint64(bulk.NewHandle(r.Uint32N(1000), r.Uint32N(4))))
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			randomise(v.Field(i), r, keep)
		}
	case reflect.Array:
		if r.Float64() >= keep {
			for i := range v.Len() {
				randomise(v.Index(i), r, keep/2)
			}
		}
	default:
		if r.Float64() < keep {
			return
		}
		switch near := r.Float64() < keep; v.Kind() {
		case reflect.Bool:
			v.SetBool(r.IntN(2) == 0)
		case reflect.Float32, reflect.Float64:
			if near {
				v.SetFloat(v.Float() + r.NormFloat64()/50)
			} else {
				v.SetFloat(r.NormFloat64() * 200)
			}
		case reflect.Int32:
			v.SetInt(int64(int32(r.Uint32()) >> r.IntN(32)))
		case reflect.Int8, reflect.Int16, reflect.Int64:
			v.SetInt(int64(r.Uint64()) >> r.IntN(64))
		case reflect.String, reflect.Slice: // not part of a row
		default:
			v.SetUint(r.Uint64() >> r.IntN(64) & (1<<v.Type().Bits() - 1))
		}
	}
}

// States returns n rows with the same mask, each derived from the last, either all for an owner
// or all for another receiver.
func States(s *schema.Schema, r *rand.Rand, n int) []rowschema.Row {
	mask, owned := r.Uint32N(1<<len(s.Components())), r.IntN(2) == 0
	rows := make([]rowschema.Row, n)
	layout := rowschema.New(s)
	values := make([]reflect.Value, len(s.Components()))
	for i := range values {
		values[i] = reflect.New(s.Components()[i].Type)
	}
	for j := range rows {
		rows[j] = NewRow(s, mask)
		rows[j].Owned = owned
		keep := float64(r.IntN(3)) / 2.2
		for i, v := range values {
			if j == 0 {
				keep = 0
			}
			randomise(v.Elem(), r, keep)
			if spec := s.Components()[i]; mask>>i&1 != 0 {
				layout.Component(i).Quantise(v.Interface(), rows[j].Values[spec.Offset:spec.Offset+spec.Values])
			}
		}
		if !owned {
			layout.HideOwned(rows[j])
		}
	}
	return rows
}

// RandomPast returns a past for rows[2] from rows[1] and rows[0], or nil. parents holds the
// states of a parent at the same ticks.
func RandomPast(c *rowcodec.Codec, r *rand.Rand, rows, parents []rowschema.Row) *rowcodec.Past {
	if r.IntN(8) == 0 {
		return nil
	}
	past := &rowcodec.Past{Base: rows[1].Values, Age: 1 + r.Uint32N(30), Gap: 1 + r.Uint32N(8)}
	if r.IntN(4) > 0 {
		past.Older = rows[0].Values
	}
	if i, ok := c.Schema().ByName("posed"); ok && r.IntN(2) == 0 {
		past.Anchor = new(rowcodec.Anchor)
		c.SetAnchor(past.Anchor, i, parents[2].Values, parents[1].Values, past.Older)
	}
	return past
}

// Coded returns a row with a past, and its bits. The result is the same on every machine.
func Coded(seed uint64) (c *rowcodec.Codec, row rowschema.Row, past *rowcodec.Past, bytes []byte) {
	s := schema.New()
	schema.Define[Everything](s, "everything")
	must(s.Err())
	c = rowcodec.New(s, rowcodec.DefaultTables())
	v := Everything{Position: [3]float32{1, 2, 3}, Facing: [4]float32{0, 0, 0, 1}, Holder: bulk.NewHandle(7, 3), Identity: seed}
	r := rand.New(rand.NewPCG(seed, 0))
	quantised := func() []uint32 {
		row := NewRow(s, 1)
		c.Layout().Component(0).Quantise(&v, row.Values)
		return row.Values
	}
	past = &rowcodec.Past{Age: 3, Gap: 2, Older: quantised()}
	v.Position[0] += 0.25
	v.Yaw += 0.5
	past.Base = quantised()
	v.Position = [3]float32{v.Position[0] + 0.4, 2 + r.Float32()/64, 3}
	v.Facing = [4]float32{0.6, 0, 0, 0.8}
	v.Ammo = int32(r.Uint32N(100))
	v.Alive = true
	row = rowschema.Row{Mask: 1, Values: quantised()}
	var w bitio.Writer
	c.Append(&w, row, past)
	return c, row, past, w.Bytes()
}

// CheckRoundTrip returns an error if row does not round-trip as a full row.
func CheckRoundTrip(s *schema.Schema, row rowschema.Row) error {
	var w bitio.Writer
	var r bitio.Reader
	again, layout := BlankRow(s, row), rowschema.New(s)
	layout.AppendFull(&w, row)
	r.Reset(w.Bytes())
	if err := layout.ReadFull(&r, &again); err != nil {
		return err
	}
	if !reflect.DeepEqual(row, again) {
		return fmt.Errorf("row %v reads back as %v", row, again)
	}
	return nil
}

// NewRow returns a row of zeros.
func NewRow(s *schema.Schema, mask uint32) rowschema.Row {
	return rowschema.Row{Mask: mask, Values: make([]uint32, s.Values())}
}

// BlankRow returns a row of zeros to read row into.
func BlankRow(s *schema.Schema, row rowschema.Row) rowschema.Row {
	return rowschema.Row{Mask: row.Mask, Owned: row.Owned, Values: make([]uint32, s.Values())}
}

// Set quantises v, a struct of component name, into row and marks it present.
func Set[T any](s *schema.Schema, row *rowschema.Row, name string, v T) {
	i, ok := s.ByName(name)
	if !ok {
		panic("no component " + name)
	}
	c := s.Components()[i]
	row.Mask |= 1 << i
	rowschema.New(s).Component(i).Quantise(&v, row.Values[c.Offset:c.Offset+c.Values])
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
