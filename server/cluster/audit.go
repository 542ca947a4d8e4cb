package cluster

import "fmt"

// audit checks what must hold between two inputs.
func (m *machine) audit() error {
	subjects := map[string]bool{}
	for _, call := range m.calls.open {
		if subjects[call.subject] || !m.calls.busy[call.subject] {
			return fmt.Errorf("cluster: C8: %q has two requests under way, or is not marked", call.subject)
		}
		subjects[call.subject] = true
	}
	held, owners := 0, map[int]string{}
	for name, r := range m.rooms.all {
		h := r.holding
		if h == nil {
			continue
		}
		held++
		if h.suspended {
			continue
		}
		if owners[h.block] != "" {
			return fmt.Errorf("cluster: C6: rooms %q and %q hold block %d", name, owners[h.block], h.block)
		}
		owners[h.block] = name
		if !m.lease.born || r.record.Nonce != h.nonce {
			return fmt.Errorf("cluster: C2: room %q is held without a record of this incarnation", name)
		}
	}
	if held != m.rooms.held {
		return fmt.Errorf("cluster: %d rooms are held, %d are counted", held, m.rooms.held)
	}
	return nil
}
