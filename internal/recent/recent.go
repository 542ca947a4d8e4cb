// Package recent remembers the newest values that were added, up to a number.
package recent

// Set is a set of the newest values.
type Set[T comparable] struct {
	count map[T]int
	order []T
	next  int
}

// NewSet returns an empty set of at most size values.
func NewSet[T comparable](size int) Set[T] {
	return Set[T]{count: make(map[T]int, size), order: make([]T, 0, size)}
}

// Has reports whether v is one of the values.
func (s *Set[T]) Has(v T) bool { return s.count[v] > 0 }

// IsFull reports whether the next Add drops a value.
func (s *Set[T]) IsFull() bool { return len(s.order) == cap(s.order) }

// IsEmpty reports whether nothing was added.
func (s *Set[T]) IsEmpty() bool { return len(s.order) == 0 }

// Add adds v, and drops the oldest value if the set is full.
func (s *Set[T]) Add(v T) {
	if !s.IsFull() {
		s.order = append(s.order, v)
	} else {
		old := s.order[s.next]
		s.count[old]--
		if s.count[old] == 0 {
			delete(s.count, old)
		}
		s.order[s.next] = v
		s.next = (s.next + 1) % len(s.order)
	}
	s.count[v]++
}

// Draw returns one of the values, or zero.
func (s *Set[T]) Draw(dice func(int) int) (v T) {
	if len(s.order) > 0 {
		v = s.order[dice(len(s.order))]
	}
	return v
}
