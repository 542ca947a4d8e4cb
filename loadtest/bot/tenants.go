package bot

// tenant is the newest known tenant of a slot.
type tenant struct {
	generation uint32
	memory     uint32 // 1 + index in oracle.known; 0: forgotten or unknown
}

// tenantPage is the number of slots allocated at once: 512 bytes.
const tenantPage = 64

// tenants holds the newest tenant per slot, and is the only data kept for ever. A
// lookup touches one cache line: with many bots per process, each lookup misses the
// cache.
type tenants struct {
	pages []*[tenantPage]tenant
}

// at returns a slot's tenant for writing.
func (t *tenants) at(slot uint32) *tenant {
	page := int(slot / tenantPage)
	if page >= len(t.pages) {
		t.pages = append(t.pages, make([]*[tenantPage]tenant, page+1-len(t.pages))...)
	}
	if t.pages[page] == nil {
		t.pages[page] = new([tenantPage]tenant)
	}
	return &t.pages[page][slot%tenantPage]
}

// of returns a slot's tenant, with generation 0 if none is known.
func (t *tenants) of(slot uint32) tenant {
	if page := int(slot / tenantPage); page < len(t.pages) && t.pages[page] != nil {
		return t.pages[page][slot%tenantPage]
	}
	return tenant{}
}

// highest returns the highest generation, or 0.
func (t *tenants) highest() (generation uint32) {
	for _, page := range t.pages {
		for i := 0; page != nil && i < tenantPage; i++ {
			generation = max(generation, page[i].generation)
		}
	}
	return generation
}
