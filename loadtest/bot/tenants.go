package bot

// tenant is the newest tenant of a slot that an oracle ever heard of.
type tenant struct {
	generation uint32
	memory     uint32 // of it: 1 + its place in oracle.known; 0: forgotten, or nobody
}

// tenantPage is for how many slots memory is made at once: 512 bytes.
const tenantPage = 64

// tenants is the newest tenants by slot, and all that is kept of slots for good. A
// look at one is a look at one line of memory: a process of bots waits for each.
type tenants struct {
	pages []*[tenantPage]tenant
}

// at returns the tenant of slot for writing.
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

// of returns the tenant of slot, of generation 0 if nobody was ever heard of.
func (t *tenants) of(slot uint32) tenant {
	if page := int(slot / tenantPage); page < len(t.pages) && t.pages[page] != nil {
		return t.pages[page][slot%tenantPage]
	}
	return tenant{}
}

// highest is the highest generation of all, 0 if there is none.
func (t *tenants) highest() (generation uint32) {
	for _, page := range t.pages {
		for i := 0; page != nil && i < tenantPage; i++ {
			generation = max(generation, page[i].generation)
		}
	}
	return generation
}
