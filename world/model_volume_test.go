package world_test

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/worldd/worldd/world"
)

// updateVolumes compares every body with every volume.
func (m *model) updateVolumes(all []world.Entity) {
	m.entered, m.left = nil, nil
	for _, v := range all {
		shape, is := m.volumes[v]
		for _, e := range all {
			p := world.Crossing{Volume: v, Entity: e}
			now := is && v != e && m.isInside(v, shape, m.entities[e])
			if now && !m.inside[p] {
				m.entered = append(m.entered, p)
				m.inside[p] = true
			}
			if !now && m.inside[p] {
				m.left = append(m.left, p)
				delete(m.inside, p)
			}
		}
	}
}

// isInside reports whether a body's centre is in a volume or on its surface.
func (m *model) isInside(volume world.Entity, s world.Volume, b *modelEntity) bool {
	if b.def == nil || s.Layers != 0 && s.Layers&b.def.Layers == 0 {
		return false
	}
	center := s.Center
	if carrier := m.entities[volume]; carrier.def != nil {
		center = carrier.at.Add(center)
	}
	d := [3]float64{
		float64(b.at.X) - float64(center.X), float64(b.at.Y) - float64(center.Y), float64(b.at.Z) - float64(center.Z),
	}
	if far := d[0] + d[1] + d[2]; math.IsNaN(far) || math.IsInf(far, 0) {
		return false
	}
	if r := float64(s.Radius); r != 0 {
		return r > 0 && float64(d[0]*d[0])+float64(d[1]*d[1])+float64(d[2]*d[2]) <= float64(r*r)
	}
	return math.Abs(d[0]) <= float64(s.Half.X) && math.Abs(d[1]) <= float64(s.Half.Y) && math.Abs(d[2]) <= float64(s.Half.Z)
}

// leaveDoomed removes bodies about to be destroyed from volumes, and all bodies from volumes
// about to be destroyed.
func (m *model) leaveDoomed() {
	gone := map[world.Entity]bool{}
	for _, e := range m.destroyed {
		gone[e] = true
	}
	pairs := slices.SortedFunc(maps.Keys(m.inside), func(a, b world.Crossing) int {
		return cmp.Or(bySlot(a.Volume, b.Volume), bySlot(a.Entity, b.Entity))
	})
	for _, p := range pairs {
		if gone[p.Volume] || gone[p.Entity] {
			m.left = append(m.left, p)
			delete(m.inside, p)
		}
	}
}
