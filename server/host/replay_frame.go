package host

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"reflect"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/printable"
	"github.com/worldd/worldd/world"
)

const (
	// maxArrows bounds the points at which one frame evaluates the effects.
	maxArrows = 4096
	// arrowHeight is how far above the ground a frame evaluates the effects, in metres.
	arrowHeight = 0.5
	// maxValueText bounds the text of one component.
	maxValueText = 240
)

// Flags of an entity in a frame.
const (
	frameBody = 1 << iota
	frameAwake
)

// frameWriter encodes the state of a world for the page of a recording. All numbers are little-endian:
//
//	length of the JSON u32 | JSON, a frameHead, padded with spaces to a multiple of four bytes
//	entities x { index u32 | generation u32 | x, y, z f32 | kind u16 | flags u16 }
//	arrows   x { wind x, z f32 | push x, z f32 }
type frameWriter struct {
	out        []byte
	effects    []world.EffectState
	wind, push field.Set
	points     planes
	sums       [2]planes // wind and push at the points
	scratch    []float32
}

type planes struct{ x, y, z [maxArrows]float32 }

func (p *planes) first(n int) field.Planes { return field.Planes{X: p.x[:n], Y: p.y[:n], Z: p.z[:n]} }

// frameHead is the part of a frame in JSON.
type frameHead struct {
	Tick     uint64            `json:"tick"`
	Entities int               `json:"entities"`
	Arrows   int               `json:"arrows"`
	Names    map[string]string `json:"names"` // of entities, by handle
	Held     []heldHandle      `json:"held"`
}

// heldHandle describes a handle as a world knows it.
type heldHandle struct {
	Handle  string `json:"handle"`
	Verdict string `json:"verdict"` // live, stale or pending
	Tenant  string `json:"tenant,omitempty"`
	// Components has the components of a live entity.
	Components []componentText `json:"components,omitempty"`
}

// componentText is a component with its values, printable.
type componentText struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// write returns the frame of the present state. It is valid until the next call.
func (f *frameWriter) write(w *world.World, held []world.Entity, grid arrowGrid) ([]byte, error) {
	slots := w.Slots()
	head := frameHead{Tick: w.Tick(), Arrows: grid.columns * grid.rows, Names: map[string]string{}, Held: []heldHandle{}}
	for slot, ok := w.Live().Next(0); ok; slot, ok = w.Live().Next(slot + 1) {
		head.Entities++
		if name := nameIn(w, slot); name != "" {
			head.Names[slots.Handle(slot).String()] = printable.Text(name)
		}
	}
	for _, e := range held {
		head.Held = append(head.Held, judgeHandle(w, e))
	}
	text, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	for len(text)%4 != 0 {
		text = append(text, ' ')
	}
	f.out = append(binary.LittleEndian.AppendUint32(f.out[:0], uint32(len(text))), text...)
	for slot, ok := w.Live().Next(0); ok; slot, ok = w.Live().Next(slot + 1) {
		f.writeEntity(w, slot)
	}
	return f.out, f.writeArrows(w, grid)
}

func (f *frameWriter) writeEntity(w *world.World, slot uint32) {
	e := w.Slots().Handle(slot)
	kind, _ := w.KindOf(e)
	var flags uint16
	state, hasBody := w.Slots().Exact(slot)
	if hasBody {
		flags |= frameBody
	}
	if state.Awake {
		flags |= frameAwake
	}
	f.out = binary.LittleEndian.AppendUint32(f.out, e.Index())
	f.out = binary.LittleEndian.AppendUint32(f.out, e.Generation())
	f.writeFloats(state.Position.X, state.Position.Y, state.Position.Z)
	f.out = binary.LittleEndian.AppendUint16(f.out, uint16(kind))
	f.out = binary.LittleEndian.AppendUint16(f.out, flags)
}

func (f *frameWriter) writeFloats(numbers ...float32) {
	for _, n := range numbers {
		f.out = binary.LittleEndian.AppendUint32(f.out, math.Float32bits(n))
	}
}

// writeArrows evaluates the effects that a client sees at the points of a grid.
func (f *frameWriter) writeArrows(w *world.World, grid arrowGrid) error {
	n := grid.columns * grid.rows
	if n == 0 {
		return nil
	}
	for i := range n {
		f.points.x[i] = grid.x + float32(i%grid.columns)*grid.step
		f.points.y[i] = arrowHeight
		f.points.z[i] = grid.z + float32(i/grid.columns)*grid.step
	}
	f.effects = w.AppendEffects(f.effects[:0])
	f.wind.Reset()
	f.push.Reset()
	for i := range f.effects {
		e := &f.effects[i]
		if e.Hidden {
			continue
		}
		set := &f.wind
		if e.Mode == world.Acceleration {
			set = &f.push
		}
		env := field.Env{Time: float64(w.Tick()-e.Born) / float64(w.TickHz()), Params: e.Params, Origin: e.Center.Array()}
		if err := set.Add(e.Program, env); err != nil {
			return err
		}
	}
	for i, set := range []*field.Set{&f.wind, &f.push} {
		f.sums[i] = planes{}
		if need := set.Scratch(); need > len(f.scratch) {
			f.scratch = make([]float32, need)
		}
		if err := set.Evaluate(f.points.first(n), f.sums[i].first(n), f.scratch); err != nil {
			return err
		}
	}
	for i := range n {
		f.writeFloats(f.sums[0].x[i], f.sums[0].z[i], f.sums[1].x[i], f.sums[1].z[i])
	}
	return nil
}

// judgeHandle says what a handle names.
func judgeHandle(w *world.World, e world.Entity) heldHandle {
	h := heldHandle{Handle: e.String(), Verdict: "pending"}
	switch w.Status(e).String() {
	case "live":
		h.Verdict, h.Components = "live", describeEntity(w, e)
	case "stale":
		h.Verdict = "stale"
		if tenant := w.Slots().Handle(e.Index()); tenant != 0 {
			h.Tenant = tenant.String()
		}
	}
	return h
}

// describeEntity returns the position and the components of an entity.
func describeEntity(w *world.World, e world.Entity) []componentText {
	var parts []componentText
	if at, ok := w.Position(e); ok {
		parts = append(parts, componentText{"position", fmt.Sprintf("%.2f, %.2f, %.2f m", at.X, at.Y, at.Z)})
	}
	for _, c := range w.Components() {
		v := w.Slots().ComponentValue(c.ID, e.Index())
		if v == nil || c.Local {
			continue
		}
		text := []rune(fmt.Sprintf("%+v", reflect.ValueOf(v).Elem()))
		parts = append(parts, componentText{c.Name, printable.Text(string(text[:min(len(text), maxValueText)]))})
	}
	return parts
}

// nameIn returns the name of the entity in a slot: a text field Name of a component.
func nameIn(w *world.World, slot uint32) string {
	for _, c := range w.Components() {
		if c.Local || c.Type.Kind() != reflect.Struct {
			continue
		}
		named, ok := c.Type.FieldByName("Name")
		if !ok || named.Type.Kind() != reflect.String {
			continue
		}
		if v := w.Slots().ComponentValue(c.ID, slot); v != nil {
			return reflect.ValueOf(v).Elem().FieldByIndex(named.Index).String()
		}
	}
	return ""
}
