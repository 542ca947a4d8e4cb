package field

// NanosecondsPerPoint estimates the effect's cost per point in this process, with its
// chosen kernels, from the effect's operations. It is accurate to a factor of two or
// three: use it for warnings, and measure for anything else.
func (p *Program) NanosecondsPerPoint() float64 {
	if p.placed != nil {
		return float64(p.placed.blockNanoseconds()) / BlockPoints
	}
	sum := 0.0
	for _, in := range p.code[p.preloads:] {
		switch in.op { // measured, without assembly
		case opExp2:
			sum += 16
		case opSin:
			sum += 8
		case opRsqrt:
			sum += 4
		default:
			sum++
		}
	}
	return sum
}
