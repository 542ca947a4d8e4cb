package bulk

// Scratch runs a kernel with columns over a pool of structs, one block at a time: in copies
// the kernel's inputs from a block's structs into the buffers S, run computes, and out
// copies the results back. The caller provides S, for example a struct of arrays of
// BlockLen elements that fits in the cache. S is reused for each block.
//
// in and out are called in the same order for each word that has a live slot, with the
// number of the word's first buffer row. Both must return the same number of rows used: one
// per live slot (see Bits) if there are many holes, or all 64 if there are few. The pool
// must not change during the call.
//
// The copies cost about as much as one or two passes of a kernel, so only longer kernels
// gain.
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
