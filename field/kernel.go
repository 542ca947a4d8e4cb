package field

// Kernels: loops of one operation over a block. All planes in use have the length of to. A
// source may be the same plane as to; otherwise planes do not overlap. Each lane follows
// arith.go and depends on its own lane alone (F2). Faster kernels are tested against these
// loops.

func fill(to []float32, v float32) {
	for i := range to {
		to[i] = v
	}
}

// canonical replaces NaN, whose bits are machine-dependent.
func canonical(out []float32) {
	for i, v := range out {
		if v != v {
			out[i] = 0
		}
	}
}

func add(to, a, b, _, _ []float32) {
	a, b = a[:len(to)], b[:len(to)]
	for i := range to {
		to[i] = a[i] + b[i]
	}
}

func sub(to, a, b, _, _ []float32) {
	a, b = a[:len(to)], b[:len(to)]
	for i := range to {
		to[i] = a[i] - b[i]
	}
}

func mul(to, a, b, _, _ []float32) {
	a, b = a[:len(to)], b[:len(to)]
	for i := range to {
		to[i] = float32(a[i] * b[i])
	}
}

func div(to, a, b, _, _ []float32) {
	a, b = a[:len(to)], b[:len(to)]
	for i := range to {
		to[i] = a[i] / b[i]
	}
}

// each is the kernel of a function that the compiler does not inline.
func each(f func(float32) float32) func(to, a, b, c, d []float32) {
	return func(to, a, _, _, _ []float32) {
		a = a[:len(to)]
		for i := range to {
			to[i] = f(a[i])
		}
	}
}

// mad and nmad inline fma32 by hand, which is too large for the compiler: the explosion
// takes a fifth less time. (rsqrt would get slower.)

func mad(to, a, b, c, _ []float32) {
	a, b, c = a[:len(to)], b[:len(to)], c[:len(to)]
	for i := range to {
		s := wideSum(a[i], b[i], c[i])
		if mayTie(s) {
			to[i] = fmaTie(a[i], b[i], c[i])
			continue
		}
		to[i] = float32(s)
	}
}

func nmad(to, a, b, c, _ []float32) {
	a, b, c = a[:len(to)], b[:len(to)], c[:len(to)]
	for i := range to {
		s := wideSum(-a[i], b[i], c[i])
		if mayTie(s) {
			to[i] = fmaTie(-a[i], b[i], c[i])
			continue
		}
		to[i] = float32(s)
	}
}

func minimum(to, a, b, _, _ []float32) {
	a, b = a[:len(to)], b[:len(to)]
	for i := range to {
		to[i] = min32(a[i], b[i])
	}
}

func maximum(to, a, b, _, _ []float32) {
	a, b = a[:len(to)], b[:len(to)]
	for i := range to {
		to[i] = max32(a[i], b[i])
	}
}

func absolute(to, a, _, _, _ []float32) {
	a = a[:len(to)]
	for i := range to {
		to[i] = abs32(a[i])
	}
}

func negate(to, a, _, _, _ []float32) {
	a = a[:len(to)]
	for i := range to {
		to[i] = neg32(a[i])
	}
}

func floor(to, a, _, _, _ []float32) {
	a = a[:len(to)]
	for i := range to {
		to[i] = floor32(a[i])
	}
}

func sqrt(to, a, _, _, _ []float32) {
	a = a[:len(to)]
	for i := range to {
		to[i] = sqrt32(a[i])
	}
}

func saturate(to, a, _, _, _ []float32) {
	a = a[:len(to)]
	for i := range to {
		to[i] = saturate32(a[i])
	}
}

func selectLT(to, a, b, c, d []float32) {
	a, b, c, d = a[:len(to)], b[:len(to)], c[:len(to)], d[:len(to)]
	for i := range to {
		to[i] = selectLT32(a[i], b[i], c[i], d[i])
	}
}

func selectGE(to, a, b, c, d []float32) {
	a, b, c, d = a[:len(to)], b[:len(to)], c[:len(to)], d[:len(to)]
	for i := range to {
		to[i] = selectGE32(a[i], b[i], c[i], d[i])
	}
}

func hash(to, a, b, c, _ []float32) {
	a, b, c = a[:len(to)], b[:len(to)], c[:len(to)]
	for i := range to {
		to[i] = hash32(a[i], b[i], c[i])
	}
}
