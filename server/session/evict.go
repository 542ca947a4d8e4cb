package session

import "cmp"

// EvictionCandidate returns the index in idle of the place to evict for a newcomer, or -1
// if idle is empty. The newcomer's own idle places rank first, so that an owner who leaves
// idle places behind does not take places from others. Then come the places of the owner
// with the most idle places. Within an owner, the longest idle place comes first.
func EvictionCandidate[T any, D cmp.Ordered](idle []T, owner func(T) string, idleFor func(T) D, newcomer string) int {
	places := map[string]int{}
	for _, p := range idle {
		places[owner(p)]++
	}
	places[newcomer] += len(idle)
	last := -1
	for i, p := range idle {
		if last < 0 || cmp.Or(cmp.Compare(places[owner(p)], places[owner(idle[last])]), cmp.Compare(idleFor(p), idleFor(idle[last]))) > 0 {
			last = i
		}
	}
	return last
}
