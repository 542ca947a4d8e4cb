package bulk

// tag is a named set of a pool's slots.
type tag struct {
	name string
	set  *Bitset
}

// Tag returns the pool's set of slots with that name, creating it on first use. A tag may
// be a type ("bullet"), a trait ("burning"), or any other set that queries need. Set and
// clear it for live slots; Remove clears the slot in every tag. Combine tags with each
// other and with Live by And, Or and AndNot. Keep the pointer: each call looks up the name.
func (p *Pool[T]) Tag(name string) *Bitset {
	for _, t := range p.tags {
		if t.name == name {
			return t.set
		}
	}
	t := tag{name, new(Bitset)}
	p.tags = append(p.tags, t)
	p.slowRemove = true
	return t.set
}

func (p *Pool[T]) untag(i uint32) {
	for _, t := range p.tags {
		t.set.Clear(i)
	}
}
