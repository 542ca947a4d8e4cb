package bulk

// NewestGeneration returns the highest generation issued, as PoolState.Newest.
func (p *Pool[T]) NewestGeneration() uint32 { return p.newest }
