package world

import (
	"fmt"

	"github.com/worldd/worldd/bulk"
)

// volumeImage holds a trigger volume as it was last looked at.
type volumeImage struct {
	slot    uint32
	shape   Volume
	members bulk.Bitset
}

func (w *World) takeVolumes(img *Image) {
	v, n := &w.volumes, 0
	for slot := range v.known.All() {
		if n == len(img.volumes) {
			img.volumes = append(img.volumes, volumeImage{})
		}
		own, t := &img.volumes[n], v.triggers[slot]
		own.slot, own.shape = slot, t.shape
		own.members.CopyFrom(&t.members)
		n++
	}
	img.volumes = img.volumes[:n]
	img.displaced.CopyFrom(&v.displaced)
}

// checkVolumes wants volumes on live slots, and bodies inside them (W14).
func (img *Image) checkVolumes(w *World) error {
	if len(img.volumes) > 0 && w.volumes.component == nil {
		return fmt.Errorf("%d volumes, and no component of this type", len(img.volumes))
	}
	var embodied bulk.Bitset
	for _, slot := range img.rows.slot {
		embodied.Set(slot)
	}
	for i := range img.volumes {
		v := &img.volumes[i]
		if !img.isLive(v.slot) || i > 0 && img.volumes[i-1].slot >= v.slot || v.members.Has(v.slot) {
			return fmt.Errorf("volume %d is on slot %d, inside itself: %t", i, v.slot, v.members.Has(v.slot))
		}
		for word, mask := range bulk.AndNot(&v.members, &embodied) {
			return fmt.Errorf("volume %d holds slots of word %d without body: %#x", i, word, mask)
		}
	}
	return nil
}

func (w *World) restoreVolumes(img *Image) {
	w.volumes = volumes{component: w.volumes.component}
	for i := range img.volumes {
		own := &img.volumes[i]
		t := w.volumes.open(w.pool.HandleAt(own.slot))
		t.shape = own.shape
		t.members.CopyFrom(&own.members)
	}
	w.volumes.displaced.CopyFrom(&img.displaced)
}

func (e *imageEncoder) volumes(img *Image) {
	e.u32(uint32(len(img.volumes)))
	for i := range img.volumes {
		v := &img.volumes[i]
		s := &v.shape
		e.u32(v.slot)
		e.f32s(s.Center.X, s.Center.Y, s.Center.Z, s.Radius, s.Half.X, s.Half.Y, s.Half.Z)
		e.u32(uint32(s.Layers))
		e.set(&v.members)
	}
	e.set(&img.displaced)
}

func (d *imageDecoder) volumes() {
	slots := len(d.img.entities.Generations)
	for range d.length(slots, "volumes") {
		if d.err != nil {
			return
		}
		d.img.volumes = append(d.img.volumes, volumeImage{slot: d.u32()})
		v := &d.img.volumes[len(d.img.volumes)-1]
		v.shape = Volume{Center: d.vec(), Radius: d.f32(), Half: d.vec(), Layers: Layers(d.u32())}
		d.set(&v.members, slots, "members of a volume")
	}
	d.set(&d.img.displaced, slots, "displaced bodies")
}
