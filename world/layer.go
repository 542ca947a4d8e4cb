package world

// Layers is a set of up to 32 layers, a bit each, which the game gives meaning
// to: players, leaves, ships. A kind is in some, and an effect or a volume is
// about some.
type Layers uint32

// DefaultLayer is where kinds are that say nothing else.
const DefaultLayer Layers = 1

// has says whether what is about these layers is about a kind in those. The zero
// value is about all.
func (l Layers) has(kind Layers) bool { return l == 0 || l&kind != 0 }
