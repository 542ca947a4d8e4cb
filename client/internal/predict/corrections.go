package predict

// FieldCorrections describes the corrections of a field; see FieldCorrections of package client.
type FieldCorrections struct {
	Component, Field string
	Count            uint64
	Tick             uint32
	Last, Largest    float64
}

// corrections counts corrections by field, in the order of the first ones. The schema bounds the
// number of fields.
type corrections struct {
	fields    []FieldCorrections
	distances []float64 // scratch
}

// countField counts the correction of a field by a distance.
func (c *corrections) countField(component, field string, tick uint32, distance float64) {
	for i := range c.fields {
		if f := &c.fields[i]; f.Component == component && f.Field == field {
			f.Count, f.Tick, f.Last, f.Largest = f.Count+1, tick, distance, max(f.Largest, distance)
			return
		}
	}
	c.fields = append(c.fields, FieldCorrections{component, field, 1, tick, distance, distance})
}

// countDifferences counts the fields in which the predicted state of s in a slot differs from e's
// newest state.
func (c *corrections) countDifferences(s *subject, e Entity, slot int, tick uint32) {
	for i := range s.parts {
		part := &s.parts[i]
		if part.server < 0 {
			continue
		}
		served := &e.Layout().Schema().Components()[part.server]
		c.distances = append(c.distances[:0], make([]float64, len(served.Fields))...)
		e.Layout().Component(part.server).Distances(e.Newest(part.server), part.at[slot], c.distances)
		for j, distance := range c.distances {
			if distance == 0 {
				continue
			}
			path := served.Fields[j].Path
			if served.Binding != nil {
				path = served.Binding.Declared[served.Binding.Fields[j]].Path
			}
			c.countField(served.Name, path, tick, distance)
		}
	}
}
