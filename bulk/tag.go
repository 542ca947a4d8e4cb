package bulk

// tag is a named set of a pool's slots.
type tag struct {
	name string
	set  *Bitset
}

// Tag is a set of the pool's slots by name: a type ("bullet"), a trait
// ("burning"), whatever a query asks for. It is made on first use. Set and clear
// it as you like for slots that are live; Remove clears the slot in every tag,
// so that a new tenant has none. Combine tags with each other and with Live by
// And, Or and AndNot. Keep the pointer: the name is looked up each time.
func (p *Pool[T]) Tag(name string) *Bitset {
	for _, t := range p.tags {
		if t.name == name {
			return t.set
		}
	}
	t := tag{name, new(Bitset)}
	p.tags = append(p.tags, t)
	p.special = true
	return t.set
}

// Tags yields the names and sets made by Tag, in the order in which they were.
func (p *Pool[T]) Tags(yield func(string, *Bitset) bool) {
	for _, t := range p.tags {
		if !yield(t.name, t.set) {
			return
		}
	}
}

func (p *Pool[T]) untag(i uint32) {
	for _, t := range p.tags {
		t.set.Clear(i)
	}
}
