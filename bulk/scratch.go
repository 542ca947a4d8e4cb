package bulk

// Scratch computes on a pool of structs by columns, a block at a time: in copies
// what a kernel needs out of the structs of a block into the buffers S, run is
// the kernel, and out copies its results back. S is the caller's: a struct of
// arrays of BlockLen elements, say, small enough for the cache, and used again
// for each block.
//
// In and out are called for each word that has a live slot, in the same order,
// with the number of the first buffer row that is theirs; both return how many
// rows they used, at most 64: one for each live slot (see Bits) where holes are
// many, or all 64 where they are few. Both must use as many. The pool must not
// change meanwhile.
//
// Copying both ways costs what a kernel of one or two passes does; from then on
// it gains. See Columns for data that is kept that way to begin with.
func Scratch[T, S any](p *Pool[T], s *S,
	in func(s *S, row int, word Word[T]) int,
	run func(s *S, rows int),
	out func(s *S, row int, word Word[T]) int,
) {
	for w, ok := p.live.nextWord(0); ok; {
		first := w
		end := w&^(blockWords-1) + blockWords
		rows := 0
		for ; ok && w < end; w, ok = p.live.nextWord(w + 1) {
			rows += in(s, rows, p.wordAt(w))
		}
		run(s, rows)
		rows = 0
		for w, ok = first, true; ok && w < end; w, ok = p.live.nextWord(w + 1) {
			rows += out(s, rows, p.wordAt(w))
		}
	}
}

func (p *Pool[T]) wordAt(w uint32) Word[T] {
	_, slots := p.word(w)
	return Word[T]{Live: p.live.words[w], Slots: slots}
}
