package scenes

import (
	"encoding/json"
	"hash/fnv"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/world"
)

// effectState lists the world's effects that the file describes under one name.
type effectState struct {
	Name string
	Sum  uint64 // fileEffect.sum
	IDs  []world.EffectID
}

func (s *Scene) effectStates() []effectState {
	all := []effectState{} // not nil: the image names its effects
	for i := range s.effects {
		f := &s.effects[i]
		f.ids = s.live(f.ids)
		all = append(all, effectState{f.file.Name, f.sum, slices.Clone(f.ids)})
	}
	return all
}

// fingerprint returns a hash of the file's description of an effect, except its name and
// the layout of its text.
func (f *fileEffect) fingerprint() uint64 {
	return fingerprint(struct {
		Program uint64
		Params  []field.Vec4
		Mode    string
		Center  Vec
		Orbit   *Orbit
		Pulse   *Pulse
	}{f.def.Program.Hash(), f.def.Params, f.file.Mode, f.file.Center, f.file.Orbit, f.file.Pulse})
}

// fingerprint returns a hash of a value that JSON can encode.
func fingerprint(value any) uint64 {
	h := fnv.New64a()
	if err := json.NewEncoder(h).Encode(value); err != nil {
		panic("scenes: a value of the file that JSON lacks: " + err.Error())
	}
	return h.Sum64()
}

// renewEffects replaces the world's effects, which come from an image, by the effects of
// the file. An effect with an unchanged description continues, with its time and path.
// renewEffects returns a description of each change.
func (s *Scene) renewEffects(then []effectState) (changes []string) {
	was := map[string]effectState{}
	for _, e := range then {
		was[e.Name] = e
	}
	var begin []*fileEffect
	for i := range s.effects {
		f := &s.effects[i]
		old, known := was[f.file.Name]
		delete(was, f.file.Name)
		f.ids = nil
		if known && old.Sum == f.sum {
			f.ids = s.live(slices.Clone(old.IDs))
			if f.file.Pulse != nil || len(f.ids) > 0 {
				continue
			}
		}
		s.removeEffects(old.IDs)
		verb := "begins: it is new in the file"
		if known {
			verb = "begins again: it has changed in the file"
		}
		changes = append(changes, "effect "+f.file.Name+" "+verb)
		if f.file.Pulse == nil {
			begin = append(begin, f)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(was)) {
		s.removeEffects(was[name].IDs)
		changes = append(changes, "effect "+name+" has ended: it is gone from the file")
	}
	for _, f := range begin {
		if s.begin(f) != nil { // pulses have filled the world with effects
			for i := range s.effects {
				if s.effects[i].file.Pulse != nil {
					s.removeEffects(s.effects[i].ids)
				}
			}
			_ = s.begin(f) // never fails: Build has added as many
		}
	}
	return changes
}

func (s *Scene) removeEffects(ids []world.EffectID) {
	for _, id := range ids {
		s.World.RemoveEffect(id)
	}
}

// findEffects finds the effects of the file in a world whose image did not name them.
func (s *Scene) findEffects() (found []effectState) {
	left := s.World.AppendEffects(nil)
	for i := range s.effects {
		f := &s.effects[i]
		e := effectState{Name: f.file.Name, Sum: f.sum}
		left = slices.DeleteFunc(left, func(w world.EffectState) bool {
			is := f.is(&w) && (f.file.Pulse != nil || len(e.IDs) == 0)
			if is {
				e.IDs = append(e.IDs, w.ID)
			}
			return is
		})
		if len(e.IDs) > 0 || f.file.Pulse != nil {
			found = append(found, e)
		}
	}
	unknown := effectState{Name: "of an older image"}
	for _, w := range left {
		unknown.IDs = append(unknown.IDs, w.ID)
	}
	if len(left) > 0 {
		found = append(found, unknown)
	}
	return found
}

// is reports whether an effect of the world may be f.
func (f *fileEffect) is(w *world.EffectState) bool {
	if w.Program.Hash() != f.def.Program.Hash() || w.Mode != f.def.Mode || !slices.Equal(w.Params, f.def.Params) || (w.Last != 0) != (f.file.Pulse != nil) {
		return false
	}
	if f.file.Orbit == nil {
		return f.file.Pulse != nil || w.Path.Center == f.def.Center && w.Path.Rate == 0
	}
	radius := world.Vec3{X: f.file.Orbit.Radius}
	return w.Path.Center == f.def.Center && w.Path.AxisU == radius && w.Path.Rate != 0
}

// Restored returns the differences that RestoreRun found between the file and the image's
// file, one per line.
func (s *Scene) Restored() []string { return s.restored }

// beginningKeys are the keys of the file that describe how a world begins: an edit applies to a new
// world only.
var beginningKeys = []string{"seed", "spawns"}

// values yields the top-level keys of the file and their values.
func (f *File) values(yield func(key string, value any) bool) {
	v := reflect.ValueOf(f).Elem()
	for i := range v.NumField() {
		key, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
		if key != "" && !yield(key, v.Field(i).Interface()) {
			return
		}
	}
}

// fingerprints returns a hash of each key of the file, except effects, which have separate
// hashes.
func (f *File) fingerprints() map[string]uint64 {
	sums := map[string]uint64{}
	for key, value := range f.values {
		if key != "effects" {
			sums[key] = fingerprint(value)
		}
	}
	return sums
}

// edits returns the keys whose values have changed since an image, with the source that
// applies: the file or the image. If then is empty it returns nothing.
func (f *File) edits(then map[string]uint64) (edits []string) {
	now := f.fingerprints()
	for _, key := range slices.Sorted(maps.Keys(now)) {
		switch sum, known := then[key]; {
		case !known || sum == now[key]:
		case slices.Contains(beginningKeys, key):
			edits = append(edits, key+" has changed in the file, and is ignored: it describes how a world begins, and this one continues")
		default:
			edits = append(edits, key+" has changed in the file, and applies")
		}
	}
	return edits
}
