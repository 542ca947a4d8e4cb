package world

import (
	"fmt"

	"github.com/worldd/worldd/bulk"
)

// volumeImage holds the volumes at their last update, in ascending order of slots. Later
// crossings depend on it.
type volumeImage struct {
	slots     []uint32
	triggers  []*trigger // triggers of the slots; surplus ones are left from earlier images
	displaced bulk.Bitset
}

// at returns the i-th trigger, creating it if i is one past the last.
func (img *volumeImage) at(i int) *trigger {
	if i == len(img.triggers) {
		img.triggers = append(img.triggers, new(trigger))
	}
	return img.triggers[i]
}

func (w *World) takeVolumes(img *volumeImage) {
	v := &w.volumes
	img.slots = v.known.AppendTo(img.slots[:0])
	for i, slot := range img.slots {
		to, from := img.at(i), v.triggers[slot]
		to.shape = from.shape
		to.members.CopyFrom(from.members.View())
	}
	img.displaced.CopyFrom(v.displaced.View())
}

func (w *World) restoreVolumes(img *volumeImage) {
	w.volumes = volumes{component: w.volumes.component}
	for i, slot := range img.slots {
		t := w.volumes.open(w.tenant(slot))
		t.shape = img.triggers[i].shape
		t.members.CopyFrom(img.triggers[i].members.View())
	}
	w.volumes.displaced.CopyFrom(img.displaced.View())
}

func (e *imageEncoder) volumes(img *volumeImage) {
	writeList(e, img.slots)
	for i := range img.slots {
		s := &img.triggers[i].shape
		e.f32s(s.Center.X, s.Center.Y, s.Center.Z, s.Radius, s.Half.X, s.Half.Y, s.Half.Z)
		e.u32(uint32(s.Layers))
		e.set(&img.triggers[i].members)
	}
	e.set(&img.displaced)
}

func (d *imageDecoder) volumes() {
	img, slots := &d.img.volumes, len(d.img.entities.Generations)
	img.slots = readList[uint32](d, slots, "volumes")
	for i := range img.slots {
		if d.err != nil {
			return
		}
		t := img.at(i)
		t.shape = Volume{Center: d.vec(), Radius: d.f32(), Half: d.vec(), Layers: Layers(d.u32())}
		d.set(&t.members, slots, "bodies in a volume")
	}
	d.set(&img.displaced, slots, "displaced bodies")
}

// checkVolumes checks that volumes are unique and live, and their members have bodies
// (W14).
func (img *Image) checkVolumes(*World) error {
	var bodies bulk.Bitset
	for _, slot := range img.rows.slot {
		bodies.Set(slot)
	}
	v := &img.volumes
	for i, slot := range v.slots {
		members := &v.triggers[i].members
		if !img.isLive(slot) || i > 0 && v.slots[i-1] >= slot || members.Has(slot) {
			return fmt.Errorf("the volume at slot %d is not live, out of order, or inside itself", slot)
		}
		for word, mask := range bulk.AndNot(members.View(), bodies.View()) {
			return fmt.Errorf("word %d has slots %#x in a volume without a body", word, mask)
		}
	}
	return nil
}
